/** The sample's handbook and catalog, with vectors that the built-in model created ahead of time. */
import { readFileSync } from 'node:fs'
import * as z from 'zod'
import { BUILT_IN_MODEL } from '../contracts/embedding-settings.ts'

const Handbook = z.array(z.object({ id: z.string(), title: z.string(), topic: z.string(), text: z.string() }))
const Products = z.array(
  z.object({
    sku: z.string(),
    name: z.string(),
    category: z.string(),
    price: z.number(),
    in_stock: z.boolean(),
    description: z.string(),
  }),
)
const Vectors = z.object({ model: z.literal(BUILT_IN_MODEL.name), texts: z.string(), vectors: z.string() })

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`./${name}.json`, import.meta.url), 'utf8'))

const readHandbook = () => Handbook.parse(read('handbook'))
const readProducts = () => Products.parse(read('products'))

export function readVectors(): { texts: string; vectors: number[][] } {
  const { texts, vectors } = Vectors.parse(read('vectors'))
  const bytes = Buffer.from(vectors, 'base64')
  const all = new Float16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
  const { dimensions } = BUILT_IN_MODEL
  return {
    texts,
    vectors: Array.from({ length: all.length / dimensions }, (_, at) =>
      Array.from(all.subarray(at * dimensions, (at + 1) * dimensions)),
    ),
  }
}

/** Rows with their vectors. */
export function readSample() {
  const [handbook, products] = [readHandbook(), readProducts()]
  const { vectors } = readVectors()
  return {
    handbook: handbook.map((row, at) => ({ ...row, embedding: vectors[at]! })),
    products: products.map((row, at) => ({ ...row, embedding: vectors[handbook.length + at]! })),
  }
}
