/** The process: one file after the other, answered in the order in which they came. */
import { readFileSync, writeFileSync } from 'node:fs'
import type { FileProblem, Passage, ReadFile, TextToDivide } from '../../cores/documents/read-document.ts'
import { builtInFolder } from '../embeddings/model-folder.ts'
import { createTokenizer, type TokenizerFile } from '../embeddings/tokenizer.ts'
import type { ReadTable, TableFile } from '../../cores/loads/read-table.ts'
import { divideTexts, readDocument } from './read-document.ts'
import { readTable } from './read-table.ts'

type WholeFile = { readonly path: string; readonly content: Uint8Array } | TableFile
export type FileToRead = WholeFile | { readonly texts: readonly TextToDivide[] }
export type DividedTexts = { readonly divided: readonly (readonly Passage[])[] }
/** `ready` comes first, so that the time of a file does not begin while this one is loaded. */
export type FromDocumentProcess =
  | 'ready'
  | { readonly read: ReadFile | ReadTable | DividedTexts | FileProblem }
  | { readonly failed: true }

if (!process.send) throw new Error('This file is the process that reads documents, not a program')
const answer = (said: FromDocumentProcess): unknown => process.send?.(said)

// The server has ended, in whatever way.
process.on('disconnect', () => process.exit())
// A terminal and systemd tell all processes: the server decides when this one ends, or its file would be called broken.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
// Where memory is short the system is to end this process, not the server; and no file of people is for a core dump.
for (const [name, value] of [
  ['oom_score_adj', '1000'],
  ['coredump_filter', '0'],
] as const) {
  try {
    writeFileSync(`/proc/self/${name}`, value)
  } catch {
    // Not Linux, or not allowed.
  }
}

// Passages are measured by the built-in model, whichever is used: the others read more.
const tokenizer = JSON.parse(readFileSync(builtInFolder().tokenizerPath, 'utf8')) as TokenizerFile
const tokenize = createTokenizer(tokenizer, Infinity)
const tokensOf = (text: string): number => tokenize(text).length - 2

process.on('message', (sent: FileToRead) => {
  read(sent).then(
    (read) => answer({ read }),
    // Its message may hold parts of the file.
    () => answer({ failed: true }),
  )
})
answer('ready')

async function read(sent: FileToRead): Promise<ReadFile | ReadTable | DividedTexts | FileProblem> {
  if ('texts' in sent) return { divided: divideTexts(sent.texts, tokensOf) }
  // Bytes of its own: what came is a part of the message, and a Buffer, which the reader of PDF refuses.
  const file: WholeFile = { ...sent, content: new Uint8Array(sent.content) }
  return 'path' in file ? readDocument(file.path, file.content, tokensOf) : readTable(file)
}
