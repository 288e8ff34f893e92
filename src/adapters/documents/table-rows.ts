/** Rows of a workbook or a Parquet file as NDJSON: a line for each row of the file, so that problems name its number. */
import { LOAD_PROBLEMS_SHOWN, LOAD_TABLE_TEXT_BYTES } from '../../contracts/limits.ts'
import { UnreadableFile } from './blocks.ts'

export type TableRows = {
  /** Of row `line`; those between it and the one before are empty. */
  add(line: number, values: Readonly<Record<string, unknown>>): void
  refuse(line: number, problem: string): void
  end(): { rows: Uint8Array<ArrayBuffer>; problems: string[]; problemCount: number }
}

const CHUNK_CHARACTERS = 1024 * 1024

export function createTableRows(): TableRows {
  const chunks: Buffer[] = []
  const problems: string[] = []
  let [text, bytes, last, problemCount] = ['', 0, 0, 0]
  const flush = () => {
    const chunk = Buffer.from(text)
    text = ''
    bytes += chunk.length
    if (bytes > LOAD_TABLE_TEXT_BYTES) throw new UnreadableFile('It has more text than such a file may have.')
    chunks.push(chunk)
  }
  return {
    add(line, values) {
      text += '\n'.repeat(line - 1 - last) + JSON.stringify(values) + '\n'
      last = line
      if (text.length > CHUNK_CHARACTERS) flush()
    },
    refuse(line, problem) {
      problemCount += 1
      if (problems.length < LOAD_PROBLEMS_SHOWN) problems.push(`line ${line}: ${problem}`)
    },
    end() {
      flush()
      return { rows: new Uint8Array(Buffer.concat(chunks)), problems, problemCount }
    },
  }
}

/** Without an exponent, as people write it. */
export function numberText(value: number): string {
  const text = String(value)
  if (!text.includes('e')) return text
  if (Math.abs(value) >= 1) return BigInt(Math.trunc(value)).toString()
  return value.toFixed(20).replace(/\.?0+$/, '')
}
