/** A machine for tests: nothing of the real environment, and everything it is told is kept. */
import { Readable } from 'node:stream'
import type { Machine } from '../../src/cli/environment.ts'

export type FakeMachine = Machine & {
  readonly out: () => string
  readonly err: () => string
}

export function fakeMachine({
  env = {},
  home = '/nowhere',
  cwd = '/nowhere',
  stdin = '',
  terminal = false,
}: {
  env?: Record<string, string>
  home?: string
  cwd?: string
  stdin?: string
  terminal?: boolean
} = {}): FakeMachine {
  const [out, err]: [string[], string[]] = [[], []]
  return {
    env,
    home,
    cwd,
    platform: 'linux',
    stdin: Object.assign(Readable.from(stdin === '' ? [] : [stdin]), { isTTY: terminal }),
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text), isTTY: terminal },
    out: () => out.join(''),
    err: () => err.join(''),
  }
}
