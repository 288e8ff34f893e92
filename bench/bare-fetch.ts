/** The bare contestant of checks: as many requests by `fetch`, so many at a time. */
import { rounds } from './rounds.ts'

const {
  count,
  rounds: n,
  url,
} = JSON.parse(process.argv[2]!) as { count: number; rounds: number; url: string }
const LANES = 64

async function requestAll(): Promise<void> {
  let left = count
  const lane = async () => {
    while (left-- > 0) {
      const response = await fetch(url)
      await response.arrayBuffer()
      if (response.status >= 400) throw new Error(`it answered ${response.status}`)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

console.log(JSON.stringify(await rounds(n, requestAll)))
process.exit(0)
