/** The skills as published: archives, and a manifest of digests. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { parse } from 'yaml'
import { blockFor, INSTALL_SCOPES, type Frontmatter } from '../../src/skills/bundle.ts'
import type { History, Release, ReleasedSkill } from '../../src/skills/history.ts'
import type { Manifest, ManifestSkill } from '../../src/skills/read-published.ts'
import { writeUstar } from '../../src/skills/ustar.ts'

/** In the order in which lists show them. */
const SKILLS = [
  { id: 'svc', installable: true },
  { id: 'svc-ai-gateway', installable: true },
  { id: 'svc-faq', installable: false },
] as const

type SourceFile = { readonly path: string; readonly bytes: Buffer }
type GeneratedFile = { readonly path: string; readonly bytes: Buffer }

export const PUBLISHED = 'skills/published'
/** A copy of what was published when the newest version was released. */
export const RELEASED = 'skills/released'

/** Every file of skills/published, from the sources under `root`. */
export function publishedSkills(root: string): readonly GeneratedFile[] {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const history = readHistory(root)
  const built = SKILLS.map(({ id, installable }) => buildSkill(root, { id, installable }, history))
  const manifest: Manifest = { version, skills: built.map(({ listed }) => listed) }
  return [
    ...built.flatMap(({ files }) => files),
    { path: 'skills/published/manifest.json', bytes: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`) },
  ]
}

export const readHistory = (root: string): History =>
  JSON.parse(readFileSync(join(root, 'skills/history.json'), 'utf8')) as History

function buildSkill(
  root: string,
  { id, installable }: { id: string; installable: boolean },
  history: History,
): { listed: ManifestSkill; files: GeneratedFile[] } {
  const sources = sourceFiles(root, id)
  const entry = sources[0]?.bytes.toString('utf8') ?? ''
  const name = `${id}.tar.gz`
  const archive = sources.length > 1 ? compressed(root, `skills/published/${name}`, sources) : undefined
  const body = installable ? readFileSync(join(root, `skills/${id}.block.md`), 'utf8') : ''
  const released = history.releases.flatMap(({ skills }) => skills[id] ?? [])
  return {
    listed: {
      id,
      frontmatter: frontmatterOf(entry),
      installable,
      ...(archive && { archive: { file: name, digest: `sha256:${sha256(archive)}` } }),
      files: sources.map(({ path, bytes }) => ({ path, sha256: sha256(bytes), size: bytes.length })),
      known: knownFiles(released),
      agents_block: { body, known: unique(released.flatMap(({ blocks }) => blocks)) },
    },
    files: archive
      ? [{ path: `skills/published/${name}`, bytes: archive }]
      : sources.map(({ path, bytes }) => ({ path: `skills/published/${id}/${path}`, bytes })),
  }
}

/** SKILL.md first, then the references by name. Text, with LF whatever a checkout made of it. */
function sourceFiles(root: string, id: string): SourceFile[] {
  const folder = join(root, 'skills', id)
  const references = join(folder, 'references')
  const names = existsSync(references) ? readdirSync(references).toSorted() : []
  return ['SKILL.md', ...names.map((name) => `references/${name}`)].map((path) => ({
    path,
    bytes: Buffer.from(readFileSync(join(folder, path), 'utf8').replaceAll('\r\n', '\n')),
  }))
}

/**
 * The bytes of gzip depend on the zlib at hand, those of the tar inside do not. So an archive that still holds the
 * same files stays as it is committed: its digest changes with its content only.
 */
function compressed(root: string, path: string, sources: readonly SourceFile[]): Buffer {
  const tar = writeUstar(sources)
  const committed = existsSync(join(root, path)) ? readFileSync(join(root, path)) : undefined
  if (committed && holds(committed, tar)) return committed
  const bytes = gzipSync(tar, { level: 9 })
  // RFC 1952, 2.3: no time, and "unknown" instead of the system this was built on.
  bytes.fill(0, 4, 8)
  bytes[9] = 255
  return bytes
}

function holds(archive: Buffer, tar: Buffer): boolean {
  try {
    return gunzipSync(archive).equals(tar)
  } catch {
    return false
  }
}

function frontmatterOf(entry: string): Frontmatter {
  const [, text = ''] = /^---\n([^]*?)\n---\n/.exec(entry) ?? []
  return parse(text) as Frontmatter
}

function knownFiles(released: readonly ReleasedSkill[]): Record<string, string[]> {
  const paths = unique(released.flatMap(({ files }) => Object.keys(files))).toSorted()
  return Object.fromEntries(
    paths.map((path) => [path, unique(released.flatMap(({ files }) => files[path] ?? []))]),
  )
}

/** What the manifest would leave behind in the history, were it released now. */
export const asRelease = ({ version, skills }: Manifest): Release => ({
  version,
  skills: Object.fromEntries(
    skills.map(({ id, installable, files, agents_block: { body } }) => [
      id,
      {
        files: Object.fromEntries(files.map(({ path, sha256: digest }) => [path, digest])),
        blocks: installable ? INSTALL_SCOPES.map((scope) => sha256(Buffer.from(blockFor(body, scope)))) : [],
      },
    ]),
  ),
})

/** Whether a version that people have installed is about to mean something else. */
export function changedSinceRelease(history: History, manifest: Manifest): boolean {
  const now = asRelease(manifest)
  const then = history.releases.find(({ version }) => version === now.version)
  return then !== undefined && JSON.stringify(then.skills) !== JSON.stringify(now.skills)
}

const unique = (texts: readonly string[]): string[] => [...new Set(texts)]
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
