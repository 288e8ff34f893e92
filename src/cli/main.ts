/** The program `svc`. */
import { thisMachine } from './environment.ts'
import { run } from './run.ts'

// Not `exit`: what is still being written would be cut off.
void run(process.argv.slice(2), thisMachine()).then((code) => (process.exitCode = code))
