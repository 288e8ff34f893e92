/**
 * How often the regular expressions that a piece of work asks went back to try something else, as V8 counts it: what a bad
 * one does a thousand times as often, and no function of ours sees. Never less than it was, and at most twice as often.
 */
import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'

type Exec = (this: RegExp, text: string) => RegExpExecArray | null

/** One that finds nothing once it has gone back so often. V8 has it for its own tests. */
type MakeLimited = (source: string, flags: string, most: number) => RegExp

export function countBacktracks(work: () => void): number {
  const prototype = RegExp.prototype as { exec: Exec }
  const { exec } = prototype
  let counted = 0
  prototype.exec = function count(this: RegExp, text) {
    // Which always finds something, at the end of the text if nowhere else: nothing means that it went back too often.
    const source = `(?:${this.source})|${this.sticky ? '' : '(?![^])'}`
    const flags = this.flags.replace('g', '').replace('y', '') + (this.sticky ? 'y' : 'g')
    const from = this.global || this.sticky ? this.lastIndex : 0
    for (let most = 1; ; most *= 2) {
      const regex = limitedRegExp(source, flags, most)
      regex.lastIndex = from
      if (from <= text.length && !exec.call(regex, text)) continue
      counted += most
      return exec.call(this, text)
    }
  }
  try {
    work()
  } finally {
    prototype.exec = exec
  }
  return counted
}

const made = new Map<string, RegExp>()
let make: MakeLimited | undefined

function limitedRegExp(source: string, flags: string, most: number): RegExp {
  const name = `${flags} ${most} ${source}`
  const known = made.get(name)
  if (known) return known
  make ??= readMakeLimited()
  const limited = make(source, flags, most)
  made.set(name, limited)
  return limited
}

function readMakeLimited(): MakeLimited {
  setFlagsFromString('--allow-natives-syntax')
  try {
    // Compiled while the flag is set: a function within it would be read later.
    return runInThisContext(
      '((source, flags, most) => %NewRegExpWithBacktrackLimit(source, flags, most))',
    ) as MakeLimited
  } finally {
    setFlagsFromString('--no-allow-natives-syntax')
  }
}
