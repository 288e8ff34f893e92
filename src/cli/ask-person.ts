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
  const { createInterface } = process.getBuiltinModule('node:readline')
  for await (const line of createInterface({ input: machine.stdin })) return line.trim()
  return ''
}

/** Nothing of what is typed is shown. */
export async function readSecret({ machine }: World, question: string): Promise<string> {
  const { stdin, stderr } = machine
  stderr.write(question)
  stdin.setRawMode?.(true)
  try {
    let typed = ''
    for await (const chunk of stdin) {
      for (const key of String(chunk)) {
        if (key === '\r' || key === '\n' || key === '\u0004') return typed.trim()
        if (key === '\u0003') throw new Interrupted()
        typed = key === '\u007f' || key === '\b' ? typed.slice(0, -1) : typed + key
      }
    }
    return typed.trim()
  } finally {
    stdin.setRawMode?.(false)
    stderr.write('\n')
  }
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
