/** src/adapters/embeddings/kernel.wasm, compiled from kernel.as: the same bytes on every machine. */
import { readFileSync } from 'node:fs'

/** Its own types change those of JavaScript for the whole project. */
type Compiler = {
  readonly main: (
    args: readonly string[],
    files: {
      readonly readFile: (name: string) => string | null
      readonly writeFile: (name: string, contents: Uint8Array | string) => void
      readonly listFiles: () => string[]
    },
  ) => Promise<{ readonly error: Error | null; readonly stderr: { toString(): string } }>
}

const SOURCE = new URL('../../src/adapters/embeddings/kernel.as', import.meta.url)

const OPTIONS = [
  '--optimizeLevel 3 --shrinkLevel 0 --runtime stub --noAssert --use abort=',
  '--enable simd --enable relaxed-simd --enable threads',
  // The weights lie in a memory that all threads of the model share.
  '--importMemory --sharedMemory --maximumMemory 65536',
]

export async function kernelFile(): Promise<Buffer> {
  const { main } = (await import(import.meta.resolve('assemblyscript/asc'))) as Compiler
  let wasm: Uint8Array | undefined
  const args = ['kernel.ts', '--outFile', 'kernel.wasm', ...OPTIONS.join(' ').split(' ')]
  const { error, stderr } = await main(args, {
    readFile: (name) => (name === 'kernel.ts' ? readFileSync(SOURCE, 'utf8') : null),
    writeFile: (name, contents) => {
      if (name === 'kernel.wasm' && typeof contents !== 'string') wasm = contents
    },
    listFiles: () => [],
  })
  if (error || !wasm) throw new Error(`kernel.as does not compile: ${stderr.toString()}`, { cause: error })
  return Buffer.from(wasm)
}
