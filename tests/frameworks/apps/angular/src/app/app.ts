import { Component, signal, type OnInit } from "@angular/core";
import { useRopewalk } from "./use_ropewalk.js";

@Component({ selector: "app-root", template: "<output>{{ results() }}</output>" })
export class App implements OnInit {
  protected readonly results = signal("");

  async ngOnInit() {
    this.results.set(await useRopewalk(new URL(location.href).searchParams.get("model")));
  }
}
