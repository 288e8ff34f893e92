/** The program `svc`. */
import { thisMachine } from './environment.ts'
import { run } from './run.ts'

// Until it is known better: a process that ends because nothing is left to wait for has not done what it should.
process.exitCode = 1

// Not `exit`: what is still being written would be cut off.
void run(process.argv.slice(2), thisMachine()).then((code) => (process.exitCode = code))
