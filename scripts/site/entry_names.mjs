// A plugin of TypeDoc: the entries of the package have the names by which programs import them, in a group "API".
import { CommentTag, Comment, Converter, ReflectionKind } from "typedoc";

export function load({ converter }) {
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const entry of project.getReflectionsByKind(ReflectionKind.Module)) {
      entry.name = entry.name === "index" ? "ropewalk" : `ropewalk/${entry.name.replace("_", "-")}`;
      entry.comment ??= new Comment();
      entry.comment.blockTags.push(new CommentTag("@group", [{ kind: "text", text: "API" }]));
    }
  });
}
