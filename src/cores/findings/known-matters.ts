/** What the app's earlier findings and denied proposals say of a matter. */
import type { Column } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { and, desc, eq, or, sql } from '../../../db/drizzle.ts'
import { findings, proposals, type Matter } from '../../../db/schema.ts'
import { findFile, readBlob, textOf, type AppKey } from '../revisions/index.ts'
import { fingerprintOf, isSameMatter, isSamePlace, isStillIn } from './matter.ts'

export type Finding = typeof findings.$inferSelect

const KNOWN = {
  id: findings.id,
  fingerprint: findings.fingerprint,
  kind: findings.kind,
  state: findings.state,
  executionId: findings.executionId,
  timesFound: findings.timesFound,
  reportedAt: findings.reportedAt,
}
export type KnownFinding = Pick<Finding, keyof typeof KNOWN>

/** The newest that may be the same matter. Older ones come to be found anew. */
const LOOKED_AT = 100

/**
 * The same fingerprint first; else one of the same matter whose lines were cut differently. Of several that stand in the same
 * lines, the one whose place is the same, or is `replaced`.
 */
export async function findKnown(
  tx: Transaction,
  { orgId, appId }: AppKey,
  matter: Matter,
  replaced: Matter['files'] = [],
): Promise<KnownFinding | undefined> {
  const ofApp = and(eq(findings.orgId, orgId), eq(findings.appId, appId))
  const [equal] = await tx
    .select(KNOWN)
    .from(findings)
    .where(and(ofApp, eq(findings.fingerprint, fingerprintOf(appId, matter))))
  if (equal) return equal
  const rows = await tx
    .select({ ...KNOWN, matter: findings.matter })
    .from(findings)
    .where(and(ofApp, mayBeSame(findings.matter, matter)))
    .orderBy(desc(findings.id))
    .limit(LOOKED_AT)
  const same = rows.filter((row) => isSameMatter(row.matter, matter))
  return same.find((row) => isPlacedIn(row.matter, matter, replaced)) ?? same[0]
}

function isPlacedIn({ place }: Matter, matter: Matter, replaced: Matter['files']): boolean {
  if (!place) return false
  if (matter.place) return isSamePlace(place, matter.place)
  return replaced.some(({ path, lines }) => path === place.path && overlaps(lines, place.line))
}

/** A change may replace a part of the line. */
const overlaps = (lines: string, line: string): boolean => isStillIn(lines, line) || isStillIn(line, lines)

/** What cannot be the same is not even read: each may hold many lines. */
const mayBeSame = (column: Column, { files, logTemplate, subject }: Matter) =>
  or(
    ...[...new Set(files.map(({ path }) => path))].map(
      (path) => sql`${column} -> 'files' @> ${JSON.stringify([{ path }])}::text::jsonb`,
    ),
    logTemplate === null ? undefined : sql`${column} ->> 'logTemplate' = ${logTemplate}`,
    subject === null ? undefined : sql`${column} ->> 'subject' = ${subject}`,
    // Neither can be the same as anything.
    sql`false`,
  )

/** Decisions, 14: what was denied stays quiet until its source lines change. */
export async function wasDenied(tx: Transaction, app: AppWithBase, matter: Matter): Promise<boolean> {
  const denied = await tx
    .select({
      matter: proposals.matter,
      path: sql<string | null>`${findings.matter} #>> '{place,path}'`,
      line: sql<string | null>`${findings.matter} #>> '{place,line}'`,
    })
    .from(proposals)
    .leftJoin(
      findings,
      and(
        eq(findings.orgId, proposals.orgId),
        eq(findings.appId, proposals.appId),
        eq(findings.fingerprint, proposals.fingerprint),
      ),
    )
    .where(
      and(
        eq(proposals.orgId, app.orgId),
        eq(proposals.appId, app.appId),
        eq(proposals.state, 'denied'),
        mayBeSame(proposals.matter, matter),
      ),
    )
    .orderBy(desc(proposals.id))
    .limit(LOOKED_AT)
  for (const { matter: other, path, line } of denied) {
    const place = path === null || line === null ? undefined : { path, line }
    if (!isSameMatter({ ...other, ...(place && { place }) }, matter)) continue
    if (await isUnchanged(tx, app, other)) return true
  }
  return false
}

/** All that it cited: one of them that was changed may be the repair. */
async function isUnchanged(tx: Transaction, app: AppWithBase, { files }: Matter): Promise<boolean> {
  for (const { path, lines } of files) {
    const text = await readBaseText(tx, app, path)
    // A file that was to be created has no lines that could change: it is as it was until it is there.
    if (lines.trim() === '' ? text !== undefined : text === undefined || !isStillIn(text, lines)) return false
  }
  return true
}

type AppWithBase = AppKey & { readonly baseRevisionId: string | null }

export async function readBaseText(
  tx: Transaction,
  { orgId, appId, baseRevisionId }: AppWithBase,
  path: string,
): Promise<string | undefined> {
  const file =
    baseRevisionId === null ? undefined : await findFile(tx, { orgId, appId }, baseRevisionId, path)
  return file === undefined ? undefined : (textOf(await readBlob(tx, orgId, file.sha256)) ?? undefined)
}
