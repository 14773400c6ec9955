// The release workflow has never run. What can be known of it without that: its form, and that what it calls is there.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const step = z.union([
  z.strictObject({
    name: z.string().optional(),
    id: z.string().optional(),
    uses: z.string().regex(/^[\w-]+\/[\w-]+@v\d+$/),
    with: z.record(z.string(), z.union([z.string(), z.boolean(), z.number()])).optional(),
  }),
  z.strictObject({
    name: z.string().optional(),
    id: z.string().optional(),
    run: z.string(),
    env: z.record(z.string(), z.string()).optional(),
  }),
])
const workflow = z.strictObject({
  name: z.string(),
  on: z.strictObject({ push: z.strictObject({ tags: z.tuple([z.literal('v*')]) }) }),
  permissions: z.strictObject({}),
  concurrency: z.strictObject({ group: z.string(), 'cancel-in-progress': z.literal(false) }),
  env: z.record(z.string(), z.string()),
  jobs: z.record(
    z.string(),
    z.strictObject({
      name: z.string(),
      needs: z.union([z.string(), z.array(z.string())]).optional(),
      'runs-on': z.literal('ubuntu-24.04'),
      'timeout-minutes': z.number(),
      permissions: z.record(z.string(), z.enum(['read', 'write'])),
      outputs: z.record(z.string(), z.string()).optional(),
      steps: z.array(step).min(1),
    }),
  ),
})

const { jobs } = workflow.parse(parse(read('.github/workflows/release.yml')))
const scripts = Object.values(jobs).flatMap(({ steps }) => steps.flatMap((each) => ('run' in each ? [each.run] : [])))

test('nothing is published before gate and tests have passed', () => {
  const before = (name: string): readonly string[] => {
    const { needs = [] } = jobs[name] ?? {}
    const direct = typeof needs === 'string' ? [needs] : needs
    return [...direct, ...direct.flatMap(before)]
  }
  for (const name of Object.keys(jobs)) if (name !== 'check') expect(before(name)).toContain('check')
  expect(scripts).toContain('.ci/run')
})

test('what it runs is there', () => {
  const { scripts: known } = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> }
  const called = scripts.flatMap((text) =>
    [...text.matchAll(/npm run --silent ([\w-]+)/g)].map(([, name = '']) => name),
  )
  expect(called).toEqual(expect.arrayContaining(['sbom', 'pack-cli']))
  expect(called.filter((name) => known[name] === undefined)).toEqual([])
  for (const path of ['.ci/run', 'deploy/Dockerfile', 'deploy/chart/Chart.yaml', 'CHANGELOG.md'])
    expect(existsSync(join(root, path))).toBe(true)
  expect(read('deploy/Dockerfile')).toMatch(/^ARG NODE_IMAGE=\S+$/m)
  expect(read('deploy/Dockerfile')).toMatch(/^ARG BASE_IMAGE=\S+$/m)
})

test('image and chart are signed, and the image carries its bill of materials', () => {
  const text = scripts.join('\n')
  expect(text).toMatch(/cosign sign --yes "\$IMAGE@\$DIGEST"/)
  expect(text).toMatch(/cosign sign --yes "\$CHARTS\/joiner@\$digest"/)
  expect(text).toMatch(/cosign attest --yes --type cyclonedx/)
})

test('values of the event reach no script as text of the script', () => {
  expect(scripts.filter((text) => text.includes('${{'))).toEqual([])
})
