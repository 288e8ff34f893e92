/**
 * JSON as `JSON.parse` reads it, but in turns: that takes seconds for a few megabytes of keys, during which nobody else is
 * answered. A member named `__proto__` is left out.
 */
import { turnGiver } from './give-turn.ts'

type Fields = Record<string, unknown>
/** A list or an object that is not at its end; `key` is that of the value to come. */
type Open = { readonly list: unknown[] } | { readonly fields: Fields; key: string }

/** What is shorter takes a few milliseconds, at worst a tenth of a second. */
const AT_ONCE_MAX = 1024 * 1024

/** `count` is called for each value of a long text and may throw. Throws for what is not JSON. */
export const parseJson = async (text: string, count: () => void): Promise<unknown> =>
  text.length <= AT_ONCE_MAX ? JSON.parse(text) : parseInTurns(text, count)

export async function parseInTurns(text: string, count: () => void): Promise<unknown> {
  const giveTurn = turnGiver()
  const reader = jsonReader(text, count)
  for (let before = 0; !reader.isDone(); before = reader.at()) {
    reader.step()
    const turn = giveTurn(reader.at() - before)
    if (turn) await turn
  }
  return reader.value()
}

function jsonReader(text: string, count: () => void) {
  const open: Open[] = []
  let at = 0
  let whole: unknown
  /** Behind a value: a comma follows, or the end of what it is in. */
  let isBehind = false

  const invalid = () => new SyntaxError(`Not JSON at character ${at}`)

  function next(): string | undefined {
    while (isSpace(text.charCodeAt(at))) at += 1
    return text[at]
  }

  /** Text, a number, or a word. */
  function simple(): unknown {
    const start = at
    if (text[at] !== '"') at = endOfWord(text, at)
    else {
      at = text.indexOf('"', start + 1) + 1
      const inside = text.slice(start + 1, at - 1)
      if (at > 0 && !UNUSUAL.test(inside)) return inside
      at = endOfText(text, start)
    }
    return JSON.parse(text.slice(start, at))
  }

  function key(): string {
    if (next() !== '"') throw invalid()
    const found = simple() as string
    if (next() !== ':') throw invalid()
    at += 1
    return found
  }

  function add(value: unknown): void {
    const inner = open.at(-1)
    count()
    if (!inner) whole = value
    else if ('list' in inner) inner.list.push(value)
    else if (inner.key !== '__proto__') inner.fields[inner.key] = value
  }

  function enter(list: unknown[] | undefined): void {
    at += 1
    const fields: Fields = {}
    add(list ?? fields)
    isBehind = next() === (list ? ']' : '}')
    if (isBehind) at += 1
    else open.push(list ? { list } : { fields, key: key() })
  }

  function goOn(inner: Open): void {
    const found = next()
    at += 1
    if (found === ('list' in inner ? ']' : '}')) open.pop()
    else if (found !== ',') throw invalid()
    else {
      isBehind = false
      if ('fields' in inner) inner.key = key()
    }
  }

  return {
    at: () => at,
    isDone: () => isBehind && open.length === 0,
    /** One value, or what is between two. */
    step(): void {
      if (isBehind) return goOn(open.at(-1)!)
      const found = next()
      if (found === '{') enter(undefined)
      else if (found === '[') enter([])
      else {
        add(simple())
        isBehind = true
      }
    },
    value(): unknown {
      if (next() !== undefined) throw invalid()
      return whole
    },
  }
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

/** Text with one of these is longer than it seems, or is not JSON. */
// oxlint-disable-next-line no-control-regex -- they are what it looks for
const UNUSUAL = /[\\\u0000-\u001f]/
const WORD = /[-+.\w]*/y

/** Behind the quote that no backslash marks. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let marks = end
    while (text[marks - 1] === '\\') marks -= 1
    if ((end - marks) % 2 === 0) return end + 1
  }
  return text.length
}

function endOfWord(text: string, start: number): number {
  WORD.lastIndex = start
  WORD.test(text)
  return WORD.lastIndex
}
