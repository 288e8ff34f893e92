/** Vectors of the built-in model, kept between runs by the digest of their text: 32 bytes SHA-256, 384 float32 each. */
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { localModel } from '../src/adapters/embeddings/local-model.ts'
import { BUILT_IN_MODEL } from '../src/contracts/embedding-settings.ts'
import { file } from './programs.ts'

const FILE = file(`.cache/${BUILT_IN_MODEL.name}.vectors`)
const DIGEST_BYTES = 32
const RECORD_BYTES = DIGEST_BYTES + 4 * BUILT_IN_MODEL.dimensions

/** What is missing is embedded, a fifth of a second each, and kept at once: whoever stops it loses nothing. */
export async function vectorsOf(texts: readonly string[]): Promise<ReadonlyMap<string, Float32Array>> {
  const kept = readKept()
  const missing = texts.filter((text) => !kept.has(digestOf(text).toString('hex')))
  if (missing.length > 0) await embed(missing, kept)
  return new Map(texts.map((text) => [text, kept.get(digestOf(text).toString('hex'))!]))
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

function readKept(): Map<string, Float32Array> {
  const kept = new Map<string, Float32Array>()
  if (!existsSync(FILE)) return kept
  const bytes = readFileSync(FILE)
  for (let at = 0; at + RECORD_BYTES <= bytes.length; at += RECORD_BYTES) {
    const numbers = new Uint8Array(bytes.subarray(at + DIGEST_BYTES, at + RECORD_BYTES))
    kept.set(bytes.subarray(at, at + DIGEST_BYTES).toString('hex'), new Float32Array(numbers.buffer))
  }
  return kept
}

async function embed(texts: readonly string[], kept: Map<string, Float32Array>): Promise<void> {
  mkdirSync(dirname(FILE), { recursive: true })
  const model = localModel()
  const started = performance.now()
  try {
    for (const [at, text] of texts.entries()) {
      const vector = await model.embed('bench', text)
      const digest = digestOf(text)
      appendFileSync(FILE, Buffer.concat([digest, Buffer.from(vector.slice().buffer)]))
      kept.set(digest.toString('hex'), vector)
      if ((at + 1) % 50 > 0) continue
      const left = ((performance.now() - started) / (at + 1)) * (texts.length - at - 1)
      console.error(
        `    ${at + 1} of ${texts.length} texts embedded, ${(left / 60_000).toFixed(0)} minutes left`,
      )
    }
  } finally {
    await model.close()
  }
}
