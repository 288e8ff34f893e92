/** How many rows a list has on all its pages, beside a chart that has counted some of them. */
import { COUNT_MAX } from '../contracts/limits.ts'

type Counted = { readonly total?: number | undefined }

type Beside = {
  /** The rows of the list, where they are on one page. */
  readonly whole: number | undefined
  /** As many of them the chart shows. */
  readonly charted: number
}

/** A list tells of COUNT_MAX rows and no more: where the chart shows as many, nobody counts them a second time. */
export async function totalBeside(
  { whole, charted }: Beside,
  count: () => Promise<Counted>,
): Promise<number | undefined> {
  if (whole !== undefined) return whole
  return charted >= COUNT_MAX ? COUNT_MAX : (await count()).total
}
