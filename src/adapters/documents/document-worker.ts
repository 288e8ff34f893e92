/** The thread: one file after the other, answered in the order in which they came. */
import { readFileSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import type { FileProblem, ReadFile } from '../../cores/documents/read-document.ts'
import { builtInFolder } from '../embeddings/model-folder.ts'
import { createTokenizer, type TokenizerFile } from '../embeddings/tokenizer.ts'
import type { ReadTable, TableFile } from '../../cores/loads/read-table.ts'
import { readDocument } from './read-document.ts'
import { readTable } from './read-table.ts'

export type FileToRead = { readonly path: string; readonly content: Uint8Array } | TableFile
/** `ready` comes first, so that the time of a file does not begin while this one is loaded. */
export type FromDocumentThread =
  | 'ready'
  | { readonly read: ReadFile | ReadTable | FileProblem }
  | { readonly failed: true }

if (!parentPort) throw new Error('This file is the thread that reads documents, not a program')
const port = parentPort
// Passages are measured by the built-in model, whichever is used: the others read more.
const tokenizer = JSON.parse(readFileSync(builtInFolder().tokenizerPath, 'utf8')) as TokenizerFile
const tokenize = createTokenizer(tokenizer, Infinity)
const tokensOf = (text: string): number => tokenize(text).length - 2

port.on('message', (file: FileToRead) => {
  const reading = 'path' in file ? readDocument(file.path, file.content, tokensOf) : readTable(file)
  reading.then(
    (read) => port.postMessage({ read } satisfies FromDocumentThread),
    // Its message may hold parts of the file.
    () => port.postMessage({ failed: true } satisfies FromDocumentThread),
  )
})
port.postMessage('ready' satisfies FromDocumentThread)
