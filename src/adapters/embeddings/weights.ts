/** Packs the weights of a model into a memory that all its threads share, in the form in which the kernel takes them. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import {
  BLOCK_MAX,
  startKernel,
  takePlaces,
  type Dense,
  type Norm,
  type Numbers,
  type Weights,
} from './kernel.ts'
import { readTensors, type ModelFolder } from './model-folder.ts'

/**
 * Integers take half the memory and half the loads, and on x64 they are faster: a product of eight and a sum are two
 * instructions for either, and a step has two numbers of each row. arm64 needs four instructions for what two do with floats.
 */
const fasterNumbers: Numbers = process.arch === 'arm64' ? 'float' : 'int16'

/** Of what WebAssembly can address. */
const PAGES_MAX = 65_536
/** Columns of a panel. */
const PANEL = 8

export function loadWeights(model: ModelFolder, numbers: Numbers = fasterNumbers): Weights {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: PAGES_MAX, shared: true })
  const kernel = new WebAssembly.Module(readFileSync(new URL('./kernel.wasm', import.meta.url)))
  const run = startKernel({ kernel, memory })
  const tensors = readTensors(model)
  const file = openSync(model.weightsPath, 'r')
  const take = takePlaces(memory, 1024)
  const { width, inner, layers } = model
  const given = take(PANEL * Math.max(width, inner) * 4)
  const floats = take(PANEL * Math.max(width, inner) * 4)

  function read(at: number, bytes: number, to: number): void {
    if (readSync(file, new Uint8Array(memory.buffer, to, bytes), 0, bytes, at) !== bytes) {
      throw new Error('The weights end early')
    }
  }

  /** `count` numbers of a tensor as floats. */
  function readFloats(name: string, from: number, count: number, to: number): void {
    const { type, at } = tensors.get(name)!
    if (type === 'F32') return read(at + from * 4, count * 4, to)
    read(at + from * 2, count * 2, given)
    run.widen(given, to, count)
  }

  const countOf = (name: string) => tensors.get(name)!.shape.reduce((product, size) => product * size, 1)

  /** Embeddings stay half floats: most of the weights, of which a text reads a few rows. */
  function readHalves(name: string): number {
    const { type, at } = tensors.get(name)!
    const count = countOf(name)
    const to = take(count * 2)
    if (type === 'F16') {
      read(at, count * 2, to)
      return to
    }
    for (let from = 0; from < count; from += width) {
      readFloats(name, from, width, floats)
      new Float16Array(memory.buffer, to + from * 2, width).set(
        new Float32Array(memory.buffer, floats, width),
      )
    }
    return to
  }

  function vector(...names: readonly string[]): number {
    let to = take(names.reduce((sum, name) => sum + countOf(name), 0) * 4)
    const at = to
    for (const name of names) {
      readFloats(name, 0, countOf(name), to)
      to += countOf(name) * 4
    }
    return at
  }

  const norm = (name: string): Norm => ({
    weight: vector(`${name}.LayerNorm.weight`),
    bias: vector(`${name}.LayerNorm.bias`),
  })

  /** One behind the other as one matrix, a panel at a time. */
  function dense(rows: number, ...names: readonly string[]): Dense {
    const columns = names.reduce((sum, name) => sum + countOf(`${name}.weight`) / rows, 0)
    const block = blockOf(rows)
    const numberBytes = numbers === 'int16' ? 2 : 4
    const at = take(columns * rows * numberBytes)
    const scales = numbers === 'int16' ? take(columns * (rows / block) * 4) : 0
    let done = 0
    for (const name of names) {
      const own = countOf(`${name}.weight`) / rows
      for (let column = 0; column < own; column += PANEL, done += PANEL) {
        readFloats(`${name}.weight`, column * rows, PANEL * rows, floats)
        for (let from = 0; from < rows; from += block) {
          const place = from * columns + done * block
          const [source, to] = [floats + from * 4, at + place * numberBytes]
          if (numbers === 'float') run.packFloat(source, rows * 4, PANEL, block, to)
          else run.packInt16(source, rows * 4, PANEL, block, to, scales + (place / block) * 4)
        }
      }
    }
    return { at, scales, bias: vector(...names.map((name) => `${name}.bias`)), columns, rows, block }
  }

  try {
    return {
      memory,
      kernel,
      numbers,
      words: readHalves('embeddings.word_embeddings.weight'),
      positions: readHalves('embeddings.position_embeddings.weight'),
      segment: readHalves('embeddings.token_type_embeddings.weight'),
      norm: norm('embeddings'),
      layers: Array.from({ length: layers }, (_, at) => `encoder.layer.${at}`).map((layer) => ({
        queryKeyValue: dense(
          width,
          ...['query', 'key', 'value'].map((part) => `${layer}.attention.self.${part}`),
        ),
        attention: dense(width, `${layer}.attention.output.dense`),
        attentionNorm: norm(`${layer}.attention.output`),
        up: dense(width, `${layer}.intermediate.dense`),
        down: dense(inner, `${layer}.output.dense`),
        downNorm: norm(`${layer}.output`),
      })),
      end: take(0),
    }
  } finally {
    closeSync(file)
  }
}

/** The largest even part of `rows` that may be added up at once. */
function blockOf(rows: number): number {
  for (let parts = Math.ceil(rows / BLOCK_MAX); ; parts += 1) {
    if (rows % (parts * 8) === 0) return rows / parts
  }
}
