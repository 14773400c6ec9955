import { readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import { readVectors, vectorNames } from '../vectors/packs.ts'
import type { Seed } from './mutate.ts'

const folder = new URL('corpus/', import.meta.url)
const demo = new URL('../../deploy/local/demo/demo.yaml', import.meta.url)

function seedOf(name: string, file: URL): Seed {
  const documents = parseAllDocuments(readFileSync(file, 'utf8'), { merge: true })
  return { name, values: documents.map((document) => document.toJS() as unknown) }
}

/** Every so many of a suite's scenarios, without what is expected of them. */
function scenariosOf(suite: string, every: number): readonly Seed[] {
  return vectorNames(suite)
    .filter((_, at) => at % every === 0)
    .map((name) => {
      const { expected: _, ...values } = readVectors(`${suite}/${name}`) as Record<string, unknown>
      return { name: `${name}.json`, values: [values] }
    })
}

const own = (name: string) => seedOf(name, new URL(name, folder))

/** What is mutated, by what it is read as. */
export const corpus = {
  manifests: [own('manifests.yaml'), own('old-manifests.yaml'), seedOf('demo.yaml', demo)],
  cluster: own('cluster.yaml'),
  types: own('types.json'),
  skus: own('skus.json'),
  prices: own('prices.json'),
  schedulerConfig: own('scheduler-config.yaml'),
  plan: own('plan.json'),
  nodeClass: { name: 'node-class.yaml', values: own('manifests.yaml').values.slice(1, 2) },
  scenarios: [...scenariosOf('scheduling', 7), ...scenariosOf('disruption', 4)],
} as const

/** All of it, to take parts from. */
export const everySeed: readonly Seed[] = Object.values(corpus).flat()
