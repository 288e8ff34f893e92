/** The thread: one task after the other, answered in the order in which they came. */
import { parentPort } from 'node:worker_threads'
import { RE2JS } from 're2js'
import type { MatchLines } from '../../cores/checks/match-lines-port.ts'

export type Task = Parameters<MatchLines>[1]
/** `ready` comes first, so that the time of a task does not begin while this file is loaded; then the places of those that match. */
export type FromLineThread = 'ready' | number[]

/** Pages of a few checks take turns; each keeps up to 8 MiB of what it has learned about its lines. */
const COMPILED_MAX = 4
const compiled = new Map<string, RE2JS>()

function compile(source: string): RE2JS {
  const regex = compiled.get(source) ?? RE2JS.compile(source)
  compiled.delete(source)
  compiled.set(source, regex)
  for (const oldest of [...compiled.keys()].slice(0, -COMPILED_MAX)) compiled.delete(oldest)
  return regex
}

parentPort!.on('message', ({ source, lines, most }: Task) => {
  const regex = compile(source)
  const found: number[] = []
  for (const [at, line] of lines.entries()) {
    // Not `matcher().find()`: that wants to know where, for which there is no fast way.
    if (regex.test(line) && found.push(at) >= most) break
  }
  parentPort!.postMessage(found satisfies FromLineThread)
})
parentPort!.postMessage('ready' satisfies FromLineThread)
