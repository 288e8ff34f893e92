/** The program `svc`. */
import { processEnvironment } from './environment.ts'
import { run } from './run.ts'

// Until a result is known: a process that ends because nothing is left to wait for has failed.
process.exitCode = 1

// Not `exit`: output that is still being written would be cut off.
void run(process.argv.slice(2), processEnvironment()).then((code) => (process.exitCode = code))
