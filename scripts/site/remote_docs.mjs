// A plugin of TypeDoc: the methods of WorkerSession and the like have the comments and the parameters of Session and the like, from which
// their types derive. Editors find them by themselves.
import { Converter, ParameterReflection, ReflectionFlag, ReflectionKind } from "typedoc";

export function load({ converter }) {
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    const classes = project.getReflectionsByKind(ReflectionKind.ClassOrInterface);
    for (const remote of classes.filter(({ name }) => name.startsWith("Worker"))) {
      const local = classes.find(({ name }) => name === remote.name.replace("Worker", ""));
      for (const method of remote.children ?? []) {
        const [own] = local?.getChildByName([method.name])?.signatures ?? [];
        for (const signature of method.signatures ?? []) {
          signature.comment ??= (own?.comment ?? method.comment)?.clone();
          nameParameters(signature, project);
        }
      }
    }
  });
}

/** Writes (...args: [count?: number]) as (count?: number). */
function nameParameters(signature, project) {
  const [{ name, type } = {}] = signature.parameters ?? [];
  if (name !== "args" || type?.type !== "tuple") return;
  project.removeReflection(signature.parameters[0]);
  signature.parameters = type.elements.map(({ name, isOptional, element }) => {
    const parameter = new ParameterReflection(name, ReflectionKind.Parameter, signature);
    parameter.type = element;
    if (isOptional) parameter.setFlag(ReflectionFlag.Optional, true);
    project.registerReflection(parameter, undefined, undefined);
    return parameter;
  });
}
