/** Vectors of questions asked a moment ago. It holds vectors and digests, never a question. */
import { createHmac, randomBytes } from 'node:crypto'

export type VectorCache = {
  /** From memory, or from `embed`, which identical questions asked at the same time share. Failures are not kept. */
  vectorOf(asked: readonly string[], embed: () => Promise<Float32Array>): Promise<Float32Array>
}

/** 1000 questions of 1536 dimensions are 6 MiB; the second limit is for longer vectors. */
const LIMITS = { entriesMax: 1000, bytesMax: 16 * 1024 * 1024 }

export function vectorCache({ entriesMax, bytesMax } = LIMITS): VectorCache {
  // Keyed, so that a memory dump does not let anybody find out by guessing what was asked.
  const key = randomBytes(32)
  /** A map keeps the order of insertion: the first is the one unused for longest. */
  const kept = new Map<string, Float32Array>()
  const underWay = new Map<string, Promise<Float32Array>>()
  let bytes = 0

  function forget(digest: string): void {
    bytes -= kept.get(digest)?.byteLength ?? 0
    kept.delete(digest)
  }

  function keep(digest: string, vector: Float32Array): void {
    forget(digest)
    kept.set(digest, vector)
    bytes += vector.byteLength
    for (const oldest of kept.keys()) {
      if (kept.size <= entriesMax && bytes <= bytesMax) break
      forget(oldest)
    }
  }

  async function ask(digest: string, embed: () => Promise<Float32Array>): Promise<Float32Array> {
    try {
      // Thrown at once, a failure would be cleared away below before it is noted as under way.
      const vector = await (async () => embed())()
      keep(digest, vector)
      return vector
    } finally {
      underWay.delete(digest)
    }
  }

  return {
    async vectorOf(asked, embed) {
      // As JSON, which tells ("a", "bc") from ("ab", "c") and also writes out what has no UTF-8.
      const digest = createHmac('sha256', key).update(JSON.stringify(asked)).digest('base64')
      const known = kept.get(digest)
      if (known) keep(digest, known)
      let vector: Float32Array | Promise<Float32Array> | undefined = known ?? underWay.get(digest)
      if (!vector) {
        vector = ask(digest, embed)
        underWay.set(digest, vector)
      }
      // A copy: what one asker does to it must not reach the next.
      return (await vector).slice()
    },
  }
}
