import { expect, test } from 'vitest'
import { costs } from './course.ts'
import { keptCosts } from './guard.ts'

// A difference is a decision: `npm run bench -- guard` shows it, `-- guard --write` keeps it, and the commit says why.
test('a start, a life and an idle hour cost what the repository says, no more and no less', async () => {
  expect(await costs()).toEqual(keptCosts())
})
