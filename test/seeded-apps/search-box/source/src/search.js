import { index } from './index.js'

export function search(words, visitor) {
  console.log(`search by ${visitor}: "${words}"`)
  const hits = index.filter(({ text }) => text.includes(words))
  if (hits.length === 0) console.warn(`nothing found for "${words}"`)
  return hits
}

export function remove(id, token) {
  if (token !== process.env.ADMIN_TOKEN) throw new Error('forbidden')
  return index.splice(index.findIndex((entry) => entry.id === id), 1)
}
