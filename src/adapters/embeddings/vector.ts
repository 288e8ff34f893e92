/** The last look at a vector before anybody searches with it. */

/** The vector as the database will hold it, or what is wrong with it. */
export function checkedVector(numbers: ArrayLike<number>, dimensions: number): Float32Array | string {
  if (numbers.length !== dimensions) {
    return `the vector has ${numbers.length} dimensions and should have ${dimensions}`
  }
  // In single precision, as pgvector keeps them: 1e39 is a number here and infinite there.
  const vector = Float32Array.from(numbers)
  if (!vector.every(Number.isFinite)) return 'the vector holds something that is no number'
  // It points nowhere: by cosine every row would be equally far, and the first ten would look like an answer.
  if (vector.every((number) => number === 0)) return 'the vector is zero'
  return vector
}
