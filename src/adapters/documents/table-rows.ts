/** Rows of a workbook or a Parquet file as NDJSON: a line for each row of the file, so that problems name its number. */
import { byteSize } from '../../contracts/byte-size.ts'
import { LOAD_PROBLEMS_SHOWN, LOAD_RECORD_BYTES, LOAD_TABLE_TEXT_BYTES } from '../../contracts/limits.ts'
import { writtenOut } from '../../contracts/written-out.ts'
import { UnreadableFile } from './blocks.ts'

export type TableRows = {
  /** Of row `line`; those between it and the one before are empty. */
  add(line: number, values: Readonly<Record<string, unknown>>): void
  refuse(line: number, problem: string): void
  end(): { rows: Uint8Array<ArrayBuffer>; problems: string[]; problemCount: number }
}

const CHUNK_CHARACTERS = 1024 * 1024

export const tooMuchText = () => new UnreadableFile('It has more text than such a file may have.')
export const TOO_LONG = `the row is longer than ${byteSize(LOAD_RECORD_BYTES)}`

export function createTableRows(): TableRows {
  const chunks: Buffer[] = []
  const problems: string[] = []
  let [text, bytes, last, problemCount] = ['', 0, 0, 0]
  const flush = () => {
    const chunk = Buffer.from(text)
    text = ''
    bytes += chunk.length
    if (bytes > LOAD_TABLE_TEXT_BYTES) throw tooMuchText()
    chunks.push(chunk)
  }
  const refuse = (line: number, problem: string) => {
    problemCount += 1
    if (problems.length < LOAD_PROBLEMS_SHOWN) problems.push(`line ${line}: ${problem}`)
  }
  return {
    add(line, values) {
      const row = JSON.stringify(values)
      if (row.length > LOAD_RECORD_BYTES) return refuse(line, TOO_LONG)
      text += '\n'.repeat(line - 1 - last) + row + '\n'
      last = line
      if (text.length > CHUNK_CHARACTERS) flush()
    },
    refuse,
    end() {
      flush()
      return { rows: new Uint8Array(Buffer.concat(chunks)), problems, problemCount }
    },
  }
}

/** Without an exponent, as people write it. */
export const numberText = (value: number): string => writtenOut(String(value))
