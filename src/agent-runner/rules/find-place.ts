/**
 * Where in the source an error comes from. First by a frame of its stack trace, which has to fit the source, because anybody can
 * log what looks like one; then by what the message names; then by the words of the message itself.
 */
import { fileRef } from '../../contracts/agent-tools.ts'
import { escapePattern, lineOf, type Match, type Reader, type Window } from './reader.ts'
import { filesFor, isProgram } from './source-files.ts'
import type { Frame, StackTrace } from './stack-trace.ts'
import { bestMatch, searchPattern } from './message-words.ts'

export type Place = {
  readonly path: string
  readonly line: number
  readonly symbol: string | null
  readonly ref: string
  /** `frame`: the line of a frame, which fits the source. `moved`: near it. The others are found by text. */
  readonly by: 'frame' | 'moved' | 'name' | 'words'
}

/** `isRunning`: traces are of this very source, so they fit or are not real. */
export type Source = {
  readonly reader: Reader
  /** Grows: a large app has more than one answer lists. */
  readonly files: string[]
  readonly isRunning: boolean
}

/** Frames that are tried: deeper ones called what failed. */
const FRAMES_MAX = 3

export async function placeOfTrace(
  source: Source,
  trace: StackTrace,
  message: string,
): Promise<Place | null> {
  const own = trace.frames
    .map((frame) => ({ frame, paths: filesFor(frame.path, source.files).slice(0, 2) }))
    .filter(({ paths }) => paths.length > 0)
  let moved: Place | null = null
  for (const { frame, paths } of own.slice(0, FRAMES_MAX)) {
    for (const path of paths) {
      if (!source.reader.mayCall(0)) return moved
      const place = await placeOfFrame(source, frame, path, message)
      if (place?.by === 'frame') return place
      moved ??= place
    }
  }
  return moved
}

async function placeOfFrame(
  { reader, isRunning }: Source,
  frame: Frame,
  path: string,
  message: string,
): Promise<Place | null> {
  const window = await reader.around(path, frame.line)
  const isSource = isSameLanguage(frame.path, path)
  if (window && isSource && fits(window, frame, message))
    return placeIn(window, frame.line, frame.symbol, 'frame')
  return isSource && isRunning ? null : movedPlace(reader, window, frame, path)
}

const isSameLanguage = (a: string, b: string): boolean => extensionOf(a) === extensionOf(b)
const extensionOf = (path: string): string | undefined => /\.(\w+)(?:[?#].*)?$/.exec(path)?.[1]

/** The line is there and says something, it is the one that the trace shows, and the function and what was read stand near it. */
function fits(window: Window, { line, symbol, code, isMention }: Frame, message: string): boolean {
  const text = lineOf(window, line)
  if (text === undefined || !/\w/.test(text) || /^\s*(?:\/\/|#|\*|\/\*)/.test(text)) return false
  if (isMention && !sharesWord(text, message)) return false
  if (code !== null && folded(code) !== folded(text)) return false
  const name = identifierIn(symbol)
  if (name !== null && !hasWord(window.lines.slice(0, line - window.start + 1).join('\n'), name)) return false
  const property = /\breading ["'`]([\w$]{1,80})["'`]/.exec(message)?.[1]
  return property === undefined || hasWord(near(window, line, 3), property)
}

/** A word that is long enough to tell something, or a name. */
const sharesWord = (line: string, message: string): boolean =>
  (line.match(/[A-Za-z_]\w{3,80}/g) ?? []).some((word) => hasWord(message, word))

const near = (window: Window, line: number, lines: number): string =>
  window.lines.slice(Math.max(0, line - lines - window.start), line + lines + 1 - window.start).join('\n')

const folded = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

const hasWord = (text: string, word: string): boolean => {
  const at = new RegExp(String.raw`(?<![\w$])${escapePattern(word)}(?![\w$])`)
  return at.test(text)
}

/** What compilers and languages call a function that has no name in the source. */
const NAMELESS =
  /^(?:lambda|main|anonymous|init|new|default|constructor|MoveNext|invoke|invokeSuspend|apply|accept|run|call|closure|block|fn)$/

/** `Server.<anonymous>`, `<module>`: null. Of a lambda in Java, the method that it stands in. */
function identifierIn(symbol: string | null): string | null {
  if (symbol === null) return null
  const last = symbol
    .replace(/ \[as .*$/, '')
    .split(/[.#:]/)
    .at(-1)!
  const name = /^lambda\$(\w+)\$\d+$/.exec(last)?.[1] ?? last
  return /^[A-Za-z_$][\w$]{1,80}[?!]?$/.test(name) && !NAMELESS.test(name) ? name : null
}

/** Another revision may run than the one that is read: then the line that the trace shows counts, or the function. */
async function movedPlace(
  reader: Reader,
  window: Window | null,
  { symbol, code, isMention }: Frame,
  path: string,
): Promise<Place | null> {
  if (isMention || !reader.mayCall(0)) return null
  if (code !== null) {
    const here = positionOf(window, code)
    if (window && here !== undefined) return placeIn(window, here, symbol, 'moved')
    const [shown] =
      code.length < 8 ? [] : await reader.grep({ pattern: code, literal: true, path_glob: path })
    return shown ? placeOfMatch(shown, symbol, 'moved') : null
  }
  const name = identifierIn(symbol)
  const [defined] = name === null ? [] : await reader.grep({ pattern: definition(name), path_glob: path })
  return defined ? placeOfMatch(defined, symbol, 'moved') : null
}

function positionOf(window: Window | null, code: string): number | undefined {
  const at = window?.lines.findIndex((line) => folded(line) === folded(code)) ?? -1
  return at === -1 ? undefined : window!.start + at
}

/** Where a function begins, in most languages. */
export const definition = (name: string): string => {
  const word = escapePattern(name)
  return [
    String.raw`\b(?:function\*?|defp?|fn|func|fun|sub)\s+(?:\([^)]*\)\s*)?(?:self\.)?${word}\b`,
    String.raw`\b(?:const|let|var|val)\s+${word}\s*=`,
    String.raw`^\s*(?:(?:public|private|protected|internal|static|async|override|final)\s+)*(?:[\w<>\[\],.?]+\s+)?${word}\s*\([^)]*\)[^;]*\{\s*$`,
  ].join('|')
}

export function placeOfMatch({ path, line, ref }: Match, symbol: string | null, by: Place['by']): Place {
  return { path, line, symbol, ref, by }
}

/** Cited with a line above and below: enough to see what it is, and little enough to stay the same. */
export function placeIn(window: Window, line: number, symbol: string | null, by: Place['by']): Place {
  const last = window.start + window.lines.length - 1
  const ref = fileRef(window.path, Math.max(window.start, line - 1), Math.min(last, line + 1))
  return { path: window.path, line, symbol, ref, by }
}

/** More hits than this say nothing. */
const HITS_MAX = 6

/** By names that the message has. Where one stands in several places, `near` decides: the file that writes the message. */
export async function placeOfNames(
  source: Source,
  names: readonly string[],
  near: Place | null,
): Promise<Place | null> {
  for (const name of names.slice(0, 2)) {
    if (source.files.length === 0 || !source.reader.mayCall(0)) return null
    const hits = (await source.reader.grep({ pattern: name, literal: true })).filter(({ path }) =>
      isProgram(path),
    )
    const inFile = hits.filter(({ path }) => path === near?.path)
    const [only] = inFile.length > 0 ? inFile : hits
    if (only && hits.length <= HITS_MAX && (hits.length === 1 || inFile.length > 0)) {
      return placeOfMatch(only, null, 'name')
    }
  }
  return null
}

/** The statement that writes a message, or throws it: of those that are wanted. */
export async function statementOf(
  source: Source,
  words: string,
  isWanted: (match: Match) => boolean = () => true,
): Promise<Match | null> {
  const pattern = searchPattern(words)
  if (pattern === null || source.files.length === 0 || !source.reader.mayCall(0)) return null
  const hits = (await source.reader.grep({ pattern })).filter(({ path }) => isProgram(path))
  return bestMatch(hits.filter(isWanted), words)
}

export async function placeOfWords(source: Source, words: string): Promise<Place | null> {
  const match = await statementOf(source, words)
  return match && placeOfMatch(match, null, 'words')
}
