/** The port to what reads archives, and compares and edits texts: work that would keep every other request waiting. */
import type { FileToArchive } from '../../contracts/write-tar.ts'

export type UnpackedFile = {
  readonly path: string
  readonly sha256: string
  readonly content: Buffer
  readonly isExecutable: boolean
}

export type Unpacked = { readonly files: readonly UnpackedFile[]; readonly problems: readonly string[] }

/** Undefined: there is no such file on that side. */
export type TextsToCompare = {
  readonly path: string
  readonly old: { readonly text: string; readonly isExecutable: boolean } | undefined
  readonly now: { readonly text: string; readonly isExecutable: boolean } | undefined
}

export type ComparedTexts = {
  readonly patch: string
  readonly addedLines: number
  readonly removedLines: number
  /** What the comparing took, without the waiting for it. */
  readonly ms: number
}

export type TextEdit =
  | { readonly path: string; readonly old_text: string; readonly new_text: string }
  | { readonly path: string; readonly create: string }
  | { readonly path: string; readonly delete: true }

export type TextsToEdit = {
  readonly edits: readonly TextEdit[]
  /** Of each path that is edited; null where it is not text, and nothing where there is no such file. */
  readonly texts: ReadonlyMap<string, string | null>
}

export type EditedTexts = {
  /** Null: the file is removed. */
  readonly files: ReadonlyMap<string, string | null>
  readonly problems: readonly string[]
}

export type SourceThread = {
  /**
   * For whatever holds a whole tree in memory: one at a time for an organization and few at once in a process, taking turns
   * between organizations.
   */
  inTurn<T>(orgId: string, work: () => Promise<T>): Promise<T>
  /** Throws TOO_LARGE where more comes out than a tree may have. */
  unpack(orgId: string, archive: Uint8Array): Promise<Unpacked>
  pack(files: readonly FileToArchive[]): Promise<Uint8Array<ArrayBuffer>>
  /** Undefined: it took too long, or `isLate` said so when its turn came. */
  compare(orgId: string, texts: TextsToCompare, isLate: () => boolean): Promise<ComparedTexts | undefined>
  /** Undefined: it took too long. */
  edit(orgId: string, texts: TextsToEdit): Promise<EditedTexts | undefined>
}

export type WithSourceThread = { readonly sourceThread: SourceThread }
