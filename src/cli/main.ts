/** The program `svc`. */
import { thisMachine } from './environment.ts'
import { run } from './run.ts'

// `svc … | head` closes the pipe when it has enough; that is no failure of ours.
process.stdout.on('error', (error: Error & { code?: string }) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})

// Not `exit`: what is still being written to a pipe would be cut off.
void run(process.argv.slice(2), thisMachine()).then((code) => (process.exitCode = code))
