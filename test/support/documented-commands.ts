/** The commands of a page of documentation, each with the output that the page shows for it; and whether that is still so. */

export type DocumentedCommand = {
  /** The heading above it. */
  readonly section: string
  /** A whole block: several lines share their variables. */
  readonly command: string
  /** The block after it, if it is output. */
  readonly shown: string | undefined
}

const HEADING = /^#{2,} (.+)$/
const FENCE = /^( *)```(\w*)$/

/** Blocks marked `sh` are commands. A block with another mark, or none, is the output of the command before it. */
export function documentedCommands(page: string): DocumentedCommand[] {
  const commands: { section: string; command: string; shown: string | undefined }[] = []
  let section = ''
  let block: { indent: string; language: string; lines: string[] } | undefined
  for (const line of page.split('\n')) {
    const fence = FENCE.exec(line)
    if (block && fence) {
      const text = block.lines.map((one) => `${one}\n`).join('')
      const last = commands.at(-1)
      if (block.language === 'sh') commands.push({ section, command: text, shown: undefined })
      else if (last?.section === section && last.shown === undefined) last.shown = text
      else throw new Error(`a block of output in "${section}" follows no command: ${text}`)
      block = undefined
    } else if (block) {
      block.lines.push(line.slice(block.indent.length))
    } else if (fence) {
      block = { indent: fence[1]!, language: fence[2]!, lines: [] }
    } else {
      section = HEADING.exec(line)?.[1] ?? section
    }
  }
  return commands
}

/** What differs at every run, by what it looks like. */
const CHANGING: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`],
  [/\b(org|usr|lod|ds|dsc)_[0-9a-z]{25}\b/g, '$1_[0-9a-z]{25}'],
  [/\bsvc_\w+/g, String.raw`svc_\w+`],
  [/\b[a-z0-9]{5}(?:-[a-z0-9]{5}){3}\b/g, '[a-z0-9]{5}(?:-[a-z0-9]{5}){3}'],
  [/…/g, '.*'],
]

/**
 * The lines that a page shows and a run did not print, in this order. Output is shortened in pages: what is shown must be
 * there in the same order, with anything in between. `…` stands for any text, spaces for any number of them.
 */
export function missingLines(shown: string, printed: string): string[] {
  const left = printed.split(/\r?\n/)
  const missing = []
  for (const line of shown.split('\n').filter((one) => one.trim() !== '')) {
    const at = left.findIndex((one) => expressionFor(line).test(one))
    if (at === -1) missing.push(line)
    else left.splice(0, at + 1)
  }
  return missing
}

function expressionFor(line: string): RegExp {
  const [, indent = '', text = ''] = /^( *)(.*)$/.exec(line.trimEnd())!
  // Signs first, so that what is put in for changing parts keeps its own.
  const parts = splitChanging(text).map(
    ({ text: part, expression }) =>
      expression ?? part.replaceAll(/[$()*+./?[\\\]^{|}-]/g, String.raw`\$&`).replaceAll(/ +/g, ' +'),
  )
  return new RegExp(`^${indent}${parts.join('')} *$`)
}

type Part = { readonly text: string; readonly expression?: string }

function splitChanging(text: string): Part[] {
  let parts: Part[] = [{ text }]
  for (const [pattern, expression] of CHANGING) {
    parts = parts.flatMap((part) =>
      part.expression === undefined ? splitAt(part.text, pattern, expression) : part,
    )
  }
  return parts
}

function splitAt(text: string, pattern: RegExp, expression: string): Part[] {
  const parts: Part[] = []
  let from = 0
  for (const match of text.matchAll(pattern)) {
    parts.push({ text: text.slice(from, match.index) })
    parts.push({ text: match[0], expression: match[0].replace(new RegExp(pattern.source), expression) })
    from = match.index + match[0].length
  }
  return [...parts, { text: text.slice(from) }]
}
