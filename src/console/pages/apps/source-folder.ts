/** What is in one folder of a revision. */
import type * as z from 'zod'
import type { showRevision } from '../../../contracts/revisions.ts'

export type SourceFile = z.output<typeof showRevision.output>['tree'][number]
export type FolderEntry =
  | { readonly kind: 'folder'; readonly name: string; readonly files: number; readonly bytes: number }
  | { readonly kind: 'file'; readonly name: string; readonly bytes: number; readonly executable: boolean }

/** Folders first; each by name. Empty where there is no such folder. */
export function folderEntries(tree: readonly SourceFile[], folder: string): FolderEntry[] {
  const prefix = folder === '' ? '' : `${folder}/`
  const folders = new Map<string, { files: number; bytes: number }>()
  const files: FolderEntry[] = []
  for (const { path, bytes, executable } of tree) {
    if (!path.startsWith(prefix)) continue
    const [name = '', ...deeper] = path.slice(prefix.length).split('/')
    if (deeper.length === 0) files.push({ kind: 'file', name, bytes, executable })
    else {
      const known = folders.get(name) ?? { files: 0, bytes: 0 }
      folders.set(name, { files: known.files + 1, bytes: known.bytes + bytes })
    }
  }
  return [...[...folders].map(([name, sums]) => ({ kind: 'folder' as const, name, ...sums })), ...files]
}
