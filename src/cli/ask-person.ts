/** Questions to the person at the terminal; where nobody sits there, the way to answer them beforehand is said instead. */
import { ServiceError } from '../contracts/errors.ts'
import { onOneLine } from './terminal-text.ts'
import { Interrupted, usage } from './usage.ts'
import type { Call } from './command.ts'
import type { World } from './world.ts'

/** Before something that cannot be taken back. `word` has to be typed; without one a y does. */
export async function confirm(world: World, call: Call, what: string, word?: string): Promise<void> {
  if (call.options['yes'] === true) return
  if (!world.settings.interactive) {
    throw usage(`This needs a yes: ${what}`, 'Add --yes once you are sure')
  }
  const how = word === undefined ? 'Go on? [y/N] ' : `Type ${onOneLine(word)} to go on: `
  world.say(onOneLine(what))
  const said = await readAnswer(world, how)
  if (word === undefined ? /^y(es)?$/i.test(said) : said === word) return
  throw new ServiceError('INVALID_REQUEST', 'Nothing was done: you did not say yes')
}

/** The terminal itself shows what is typed, and its Ctrl-C ends the process as ever. */
export async function readAnswer({ machine }: World, question: string): Promise<string> {
  machine.stderr.write(question)
  const lines = process.getBuiltinModule('node:readline').createInterface({ input: machine.stdin })
  try {
    for await (const line of lines) return line.trim()
    return ''
  } finally {
    // Leaving the loop does not do it, and an open terminal would keep the process for ever.
    lines.close()
  }
}

/** Nothing of what is typed is shown. */
export async function readSecret({ machine }: World, question: string): Promise<string> {
  const { stdin, stderr } = machine
  // First, so that nothing which was typed ahead appears either.
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

/** By events: a loop over a stream that a question before this one has paused would never begin. */
function keysUntilEnter(stdin: World['machine']['stdin']): Promise<string> {
  return new Promise((resolve, reject) => {
    let typed = ''
    const done = (how: () => void) => {
      stdin.off('data', take).off('end', end)
      how()
    }
    const end = () => done(() => resolve(typed.trim()))
    const take = (chunk: Buffer | string) => {
      for (const key of String(chunk)) {
        if (key === '\r' || key === '\n' || key === '\u0004') return end()
        if (key === '\u0003') return done(() => reject(new Interrupted()))
        typed = key === '\u007f' || key === '\b' ? typed.slice(0, -1) : typed + key
      }
    }
    stdin.on('data', take).on('end', end).resume()
  })
}

/** What `-` stands for: a token, an address, a question. */
export async function readInput({ machine }: World, what: string): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of machine.stdin) {
    chunks.push(Buffer.from(chunk as Buffer | string))
    size += chunks.at(-1)!.length
    if (size > INPUT_MAX_BYTES)
      throw usage(`What came on stdin is too long for ${what}`, 'Is it the right file?')
  }
  const text = Buffer.concat(chunks).toString('utf8').trim()
  if (text === '') throw usage(`Nothing came on stdin for ${what}`, 'Pipe it in: svc … - < file')
  return text
}

/** More than the longest question and the longest token there is. */
const INPUT_MAX_BYTES = 64 * 1024
