import { expect, test } from 'vitest'
import { type Corpus, hostileCorpus, tenthOf } from './corpus.ts'
import { mostBytes } from './files.ts'

const corpus = hostileCorpus()
const all = ({ machines, objects, files }: Corpus) => [...machines, ...objects, ...files]
const kinds = (of: Corpus) => new Set(all(of).map(({ kind }) => kind))

test('there are more than 200, each told apart by what is wrong with it', () => {
  const names = all(corpus).map(({ kind, what }) => `${kind} ${what}`)
  expect(names.length).toBeGreaterThan(200)
  expect(new Set(names).size).toBe(names.length)
})

test('objects of a kind have names of their own', () => {
  const names = corpus.objects.map(({ kind, body }) => `${kind} ${(body['metadata'] as { name: string }).name}`)
  expect(new Set(names).size).toBe(names.length)
})

test('files have less than a megabyte', () => {
  for (const { what, bytes } of corpus.files) expect(bytes.length, what).toBeLessThan(mostBytes)
})

test('a tenth has some of every kind', () => {
  const tenth = tenthOf(corpus)
  expect(kinds(tenth)).toEqual(kinds(corpus))
  expect(all(tenth).length).toBeLessThan(all(corpus).length / 8)
})
