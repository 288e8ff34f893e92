/** A process that ends with the one that started it, also when that is killed. */
import { spawn } from 'node:child_process'

/** Kills the process whose number it is given as soon as its own standard input ends, which is when we end. */
const GUARD = 'cat >/dev/null; kill -KILL "$0" 2>/dev/null'

/** Ends with us, also when we are killed. Returns how to let go of a process that has ended. */
export function endWithUs(pid: number): () => void {
  const guard = spawn('/bin/sh', ['-c', GUARD, String(pid)], { stdio: ['pipe', 'ignore', 'ignore'] })
  return () => void guard.kill('SIGKILL')
}
