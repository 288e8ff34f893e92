import { expect, test } from 'vitest'
import { limitPlaces } from './places.ts'

test('whoever waits for longer than is of use is refused, and takes no place later', async () => {
  const places = limitPlaces(1, undefined, 20)
  await places.enter()
  await expect(places.enter()).rejects.toMatchObject({
    code: 'ETIMEDOUT',
    message: 'All connections to the database are in use',
  })
  const next = places.enter()
  places.leave()
  await next
  places.leave()
  await places.empty()
})

test('there is nobody in them when the last one has left, and not before', async () => {
  const places = limitPlaces(2)
  await places.empty()
  await Promise.all([places.enter(), places.enter()])
  const order: string[] = []
  const third = places.enter().then(() => void order.push('the third has a place'))
  const empty = places.empty().then(() => void order.push('empty'))
  places.leave()
  await third
  places.leave()
  await Promise.resolve()
  expect(order).toEqual(['the third has a place'])
  places.leave()
  await empty
  expect(order).toEqual(['the third has a place', 'empty'])
})
