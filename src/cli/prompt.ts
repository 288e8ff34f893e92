/** Prompts at the terminal; without a terminal the error names the option to use instead. */
import { ServiceError } from '../contracts/errors.ts'
import type { CommandContext } from './command-context.ts'
import type { CommandInput } from './command.ts'
import { textOption } from './options.ts'
import { sanitizeLine } from './terminal-text.ts'
import { Interrupted, usageError } from './usage-error.ts'

/** Before something that cannot be undone. `word` must be typed to confirm; without one `y` is enough. */
export async function confirm(
  ctx: CommandContext,
  input: CommandInput,
  what: string,
  word?: string,
): Promise<void> {
  if (input.options['yes'] === true) return
  if (!ctx.settings.interactive) {
    throw usageError(`Confirmation required. ${what}`, 'Add --yes to confirm')
  }
  const question = word === undefined ? 'Continue? [y/N] ' : `Type ${sanitizeLine(word)} to confirm: `
  ctx.info(what)
  const reply = await promptLine(ctx, question)
  if (word === undefined ? /^y(es)?$/i.test(reply) : reply === word) return
  throw new ServiceError('INVALID_REQUEST', 'Canceled; nothing was changed')
}

/** The terminal echoes what is typed, and handles Ctrl-C itself. */
export async function promptLine({ environment }: CommandContext, question: string): Promise<string> {
  environment.stderr.write(question)
  const lines = process.getBuiltinModule('node:readline').createInterface({ input: environment.stdin })
  try {
    for await (const line of lines) return line.trim()
    return ''
  } finally {
    // Leaving the loop does not close it, and an open terminal would keep the process alive.
    lines.close()
  }
}

/** Without echo. */
export async function promptSecret({ environment }: CommandContext, question: string): Promise<string> {
  const { stdin, stderr } = environment
  // First, so that nothing typed ahead is echoed.
  stdin.setRawMode?.(true)
  stderr.write(question)
  try {
    return await keysUntilEnter(stdin)
  } finally {
    stdin.setRawMode?.(false)
    stdin.pause()
    stderr.write('\n')
  }
}

/** By events: `for await` over a stream that an earlier prompt has paused would never start. */
function keysUntilEnter(stdin: CommandContext['environment']['stdin']): Promise<string> {
  return new Promise((resolve, reject) => {
    let typed = ''
    const finish = (settle: () => void) => {
      stdin.off('data', onData).off('end', end)
      settle()
    }
    const end = () => finish(() => resolve(typed.trim()))
    const onData = (chunk: Buffer | string) => {
      for (const key of String(chunk)) {
        if (key === '\r' || key === '\n' || key === '\u0004') return end()
        if (key === '\u0003') return finish(() => reject(new Interrupted()))
        typed = key === '\u007f' || key === '\b' ? typed.slice(0, -1) : typed + key
      }
    }
    stdin.on('data', onData).on('end', end).resume()
  })
}

/** The value of an option that is a secret: given, piped in as `-`, or typed at a hidden prompt. */
export async function secretOption(ctx: CommandContext, input: CommandInput, long: string, label: string) {
  const given = textOption(input, long)
  if (given === '-') return readStdin(ctx, `--${long}`)
  if (given !== undefined) return given
  if (ctx.settings.interactive) return promptSecret(ctx, `${label} (hidden): `)
  throw usageError(
    `Missing option --${long}`,
    `It contains a secret. Pipe it in to keep it out of process lists: --${long} - < file`,
  )
}

/** The value of an option or argument that was given as `-`. */
export async function readStdin(ctx: CommandContext, what: string): Promise<string> {
  const text = (await readStdinBytes(ctx, what, INPUT_MAX_BYTES)).toString('utf8').trim()
  if (text === '') throw usageError(`No input on stdin for ${what}`, 'Pipe it in: svc … - < file')
  return text
}

export async function readStdinBytes(
  { environment }: CommandContext,
  what: string,
  maxBytes: number,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of environment.stdin) {
    chunks.push(Buffer.from(chunk as Buffer | string))
    size += chunks.at(-1)!.length
    if (size > maxBytes)
      throw usageError(`The input on stdin is too long for ${what}`, 'Check that it is the right file')
  }
  return Buffer.concat(chunks)
}

/** More than the longest question or token. */
const INPUT_MAX_BYTES = 64 * 1024
