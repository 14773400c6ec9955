// Which suites start a world: etcd, Kubernetes, Temporal, the simulator and Joiner.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, posix, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const starter = 'test/world.ts'
const importing = /^(?:import|export)\s(?!type\s)[^'"]*?from '(\.[^']+)'/gm

/** Suites of `npm test` on real servers whose imports lead to a world, from the root of the repository. */
export function worldSuites(): readonly string[] {
  const suites = globSync('{test,workflows,deploy,starter}/**/*.servers.test.ts', { cwd: root })
  const known = new Map<string, boolean>([[starter, true]])
  return suites
    .map((path) => path.replaceAll(sep, '/'))
    .filter((path) => leadsToWorld(path, known))
    .toSorted()
}

function leadsToWorld(path: string, known: Map<string, boolean>): boolean {
  const found = known.get(path)
  if (found !== undefined) return found
  known.set(path, false)
  const leads = importsOf(path).some((one) => leadsToWorld(one, known))
  known.set(path, leads)
  return leads
}

function importsOf(path: string): readonly string[] {
  const text = readFileSync(join(root, path), 'utf8')
  return [...text.matchAll(importing)].map(([, specifier = '']) => posix.join(dirname(path), specifier))
}
