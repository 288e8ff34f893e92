/** Open findings whose lines are in the source no more: somebody has changed them. Found again, they are news. */
import type { Transaction } from '../../../db/connect.ts'
import { and, desc, eq, inArray, ne, notExists, sql } from '../../../db/drizzle.ts'
import { findings, proposals, type Matter } from '../../../db/schema.ts'
import type { Run } from '../maintenance/index.ts'
import { readBaseText } from './known-matters.ts'
import { foldBlanks } from '../../contracts/plain-text.ts'
import { isStillIn, tellingLines } from './matter.ts'

/** The newest. */
const LOOKED_AT = 100

/** By the source that the run has read. */
export async function resolveGone(tx: Transaction, run: Run): Promise<void> {
  if (run.baseRevisionId === null) return
  const ofApp = and(eq(findings.orgId, run.orgId), eq(findings.appId, run.appId), eq(findings.state, 'open'))
  const open = await tx
    .select({ id: findings.id, matter: findings.matter })
    .from(findings)
    .where(
      and(
        ofApp,
        ne(findings.executionId, run.id),
        sql`${findings.matter} -> 'files' <> '[]'::jsonb`,
        // Its repair is in the source, and does not run.
        notExists(
          tx
            .select({ id: proposals.id })
            .from(proposals)
            .where(
              and(
                eq(proposals.orgId, findings.orgId),
                eq(proposals.appId, findings.appId),
                eq(proposals.fingerprint, findings.fingerprint),
                eq(proposals.state, 'failed'),
              ),
            ),
        ),
      ),
    )
    .orderBy(desc(findings.id))
    .limit(LOOKED_AT)
  const texts = new Map<string, SourceText>()
  for (const path of new Set(open.flatMap(({ matter }) => placesOf(matter).map((place) => place.path)))) {
    const text = (await readBaseText(tx, run, path)) ?? ''
    texts.set(path, { text, lines: new Set(tellingLines(text)) })
  }
  const gone = open.filter(({ matter }) =>
    placesOf(matter).every(({ path, lines }) => isGone(texts.get(path)!, lines)),
  )
  if (gone.length === 0) return
  const ids = gone.map(({ id }) => id)
  await tx
    .update(findings)
    .set({ state: 'resolved', reopenedBy: null })
    .where(and(ofApp, inArray(findings.id, ids)))
}

type SourceText = { readonly text: string; readonly lines: ReadonlySet<string> }

/** Where it is, as far as it says so: of the lines around it some change for other reasons. */
const placesOf = ({ place, files }: Matter): Matter['files'] =>
  place ? [{ path: place.path, lines: place.line }] : files

/** Not one of them is left. Of a file that was yet to be created there are none. */
function isGone({ text, lines: all }: SourceText, lines: string): boolean {
  if (foldBlanks(lines) === '' || isStillIn(text, lines)) return false
  return !tellingLines(lines).some((line) => all.has(line))
}
