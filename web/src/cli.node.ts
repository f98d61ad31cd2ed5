#!/usr/bin/env node
// The `ropewalk` command.
import { main } from "./apps/cli/main.js";

process.exitCode = await main(process.argv.slice(2));
