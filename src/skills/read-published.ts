/** Reads the published skills of this release and checks them against their digests. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Frontmatter, PublishedBundle, PublishedSkill, SkillFile } from './bundle.ts'
import { readUstar } from './ustar.ts'

/** skills/published/manifest.json, written by `npm run generate`. */
export type Manifest = {
  readonly version: string
  readonly skills: readonly ManifestSkill[]
}

export type ManifestSkill = {
  readonly id: string
  readonly frontmatter: Frontmatter
  readonly installable: boolean
  readonly archive?: { readonly file: string; readonly digest: string }
  readonly files: readonly { readonly path: string; readonly sha256: string; readonly size: number }[]
  readonly known: Readonly<Record<string, readonly string[]>>
  readonly agents_block: { readonly body: string; readonly known: readonly string[] }
}

/** Two folders up, from src/skills as from dist/cli. */
const PUBLISHED = new URL('../../skills/published/', import.meta.url)

export function readPublishedSkills(folder: URL = PUBLISHED): PublishedBundle {
  const name = `skills/${basename(folder.pathname)}`
  const read = (path: string): Buffer => readFileSync(new URL(path, folder))
  const { version, skills } = JSON.parse(read('manifest.json').toString('utf8')) as Manifest
  return { version, skills: skills.map((listed) => readSkill(listed, version, { name, read })) }
}

type Folder = { readonly name: string; readonly read: (path: string) => Buffer }

function readSkill(listed: ManifestSkill, version: string, folder: Folder): PublishedSkill {
  const { name, read } = folder
  const { id, frontmatter, installable, archive, known, agents_block: block } = listed
  const bytes = archive && read(archive.file)
  if (archive && bytes && `sha256:${sha256(bytes)}` !== archive.digest) throw damaged(name, archive.file)
  const contents = bytes
    ? readUstar(gunzipSync(bytes))
    : listed.files.map(({ path }) => ({ path, bytes: read(`${id}/${path}`) }))
  return {
    id,
    description: frontmatter.description,
    frontmatter,
    installable,
    version,
    files: listed.files.map((file) => checked(folder, id, file, contents)),
    ...(archive && bytes && { archive: { bytes, digest: archive.digest } }),
    known: new Map(Object.entries(known).map(([path, digests]) => [path, new Set(digests)])),
    agentsBlock: { body: block.body, known: new Set(block.known) },
  }
}

function checked(
  { name }: Folder,
  id: string,
  { path, sha256: digest }: ManifestSkill['files'][number],
  contents: readonly { path: string; bytes: Uint8Array }[],
): SkillFile {
  const bytes = contents.find((entry) => entry.path === path)?.bytes
  if (!bytes || sha256(bytes) !== digest) throw damaged(name, `${id}/${path}`)
  return { path, bytes, sha256: digest }
}

const damaged = (folder: string, file: string): Error =>
  new Error(`${folder}/${file} is not what its manifest says: install svc again`)

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
