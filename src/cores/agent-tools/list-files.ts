import { fitsGlob } from '../proposals/index.ts'
import { fitRows } from './fit-rows.ts'
import { readManifest } from './source-text.ts'
import type { ReadingTool } from './tool.ts'

export const listFiles: ReadingTool<'list_files'> = async ({ db }, run, { dir, glob }) => {
  const folder = dir?.replace(/^(?:\.?\/)+/, '').replace(/\/+$/, '') ?? ''
  const prefix = folder === '' || folder === '.' ? '' : `${folder}/`
  const found = (await readManifest(db, run))
    .filter(([path]) => path.startsWith(prefix) && (glob === undefined || fitsGlob(path, glob)))
    .map(([path, , bytes]) => ({ path, bytes }))
  const { rows: files, truncated } = fitRows(found)
  return { result: { files, truncated }, evidence: [] }
}
