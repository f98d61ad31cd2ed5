import { showRopewalk } from "./use_ropewalk.js";

void showRopewalk();
