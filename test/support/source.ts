/** Archives and trees of source for tests. */
import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { readTar } from '../../src/contracts/read-tar.ts'
import { writeTar } from '../../src/contracts/write-tar.ts'

export type Tree = Record<string, string>

export const sha256 = (content: string | Uint8Array): string =>
  createHash('sha256').update(content).digest('hex')

export const archiveOf = (tree: Tree): Uint8Array<ArrayBuffer> =>
  new Uint8Array(
    gzipSync(
      writeTar(
        Object.entries(tree).map(([path, text]) => ({
          path,
          content: Buffer.from(text),
          isExecutable: path.endsWith('.sh'),
        })),
      ),
    ),
  )

/** Each named by its hash, as `uploadFiles` takes them. */
export const uploadOf = (...texts: string[]): Uint8Array<ArrayBuffer> =>
  archiveOf(Object.fromEntries(texts.map((text) => [sha256(text), text])))

export const treeIn = (archive: Uint8Array): Tree =>
  Object.fromEntries(
    readTar(gunzipSync(archive)).files.map(({ path, content }) => [path, Buffer.from(content).toString()]),
  )
