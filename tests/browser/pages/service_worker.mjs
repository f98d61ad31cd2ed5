// A service worker that loads the main entry, which can rotate, but can't load its other parts: service workers don't allow import().

import { load } from "../package/dist/index.js";
import { answerMessages } from "./service_worker_answers.mjs";

answerMessages(load);
