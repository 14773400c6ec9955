import { lstat, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { commandLine } from '../deploy/local/installation.ts'
import { kubeconfig } from '../deploy/local/kubernetes.ts'
import { type Deployment, deployment, ofShape, podEnvironment, renderChart, smallestValues } from './chart.ts'
import { buildStages, environmentOf, execForm, ImageProcess, only, readStages } from './image.ts'
import { World } from './world.ts'

/** On the first port. */
const nothingListens = '127.0.0.1:1'
const packageFile = z.object({
  version: z.string(),
  devDependencies: z.record(z.string(), z.string()).default({}),
})
/** What each Deployment waits for while nothing answers. */
const waits = {
  joiner: ['the CRDs', 'temporal'],
  'joiner-azure': ['the CRDs', 'temporal', 'an access token of Azure'],
  'joiner-planner': ['the CRDs', 'temporal'],
  'joiner-conversion': ['the CRDs', 'the conversion webhook'],
} as const
const deployments = Object.keys(waits) as (keyof typeof waits)[]

/** Of all stages, and of what the last one holds. */
let workspace: string
let folder: string
let stages: Awaited<ReturnType<typeof readStages>>
let before: readonly string[]
let manifests: Awaited<ReturnType<typeof renderChart>>
const running: ImageProcess[] = []

beforeAll(async () => {
  workspace = await mkdtemp(join(tmpdir(), 'joiner-image-'))
  folder = join(workspace, 'app')
  stages = await readStages()
  manifests = await renderChart({ ...smallestValues, temporal: { address: nothingListens } })
  await buildStages(stages, workspace)
  const user = { token: 'none' }
  before = await state()
  await writeFile(`${folder}.kubeconfig`, kubeconfig({ server: `https://${nothingListens}`, caFile: '', user }))
})

afterEach(async () => {
  for (const process of running.splice(0)) await process.kill()
})

afterAll(async () => {
  await rm(workspace, { recursive: true, force: true })
})

describe('the Dockerfile', () => {
  test('ships the Node of package.json and what the build stage made, on a base without a shell or a package manager', async () => {
    const [build, app, final, ...more] = stages
    if (build === undefined || app === undefined || final === undefined)
      throw new Error('Dockerfile: fewer than 3 stages')
    expect(app.base).toBe(build.base)
    expect(more).toEqual([])
    const { devDependencies } = packageFile.parse(await jsonOf(new URL('../package.json', import.meta.url)))
    expect(build.base).toBe(`node:${devDependencies['node']}-bookworm-slim`)
    // Of the same Debian.
    expect(final.base).toBe('gcr.io/distroless/cc-debian12:nonroot')
    const node = '/usr/local/bin/node'
    expect(final.instructions.filter(({ keyword }) => keyword === 'COPY').map(({ argument }) => argument)).toEqual([
      `--from=${app.name} ${node} ${node}`,
      `--from=${app.name} ${only(app, 'WORKDIR')} ./`,
    ])
    expect(only(final, 'WORKDIR')).toBe(only(app, 'WORKDIR'))
    expect(final.instructions.filter(({ keyword }) => keyword === 'RUN')).toEqual([])
  })

  test('runs as the user and on the ports that the chart expects', () => {
    const final = finalStage()
    for (const each of ofShape(manifests, ['Deployment'], deployment)) {
      const { containers, securityContext } = each.spec.template.spec
      expect(only(final, 'USER')).toBe(`${securityContext.runAsUser}:${securityContext.runAsUser}`)
      for (const { containerPort } of containers[0].ports)
        expect(only(final, 'EXPOSE').split(' ')).toContain(String(containerPort))
    }
  })
})

describe('the image', () => {
  test('holds bundles and no sources, and of deploy the CRDs alone', async () => {
    const { node_modules: _, ...sources } = Object.groupBy(
      await readdir(folder, { recursive: true }),
      (path) => path.split('/')[0] ?? '',
    )
    expect(Object.keys(sources).toSorted()).toEqual(['build', 'compiled', 'deploy', 'dist', 'package.json', 'starter'])
    const paths = Object.values(sources).flatMap((each) => each ?? [])
    expect(paths.filter((path) => path.endsWith('.ts'))).toEqual([])
    expect(paths.filter((path) => /^deploy\/.*\.\w+$/.test(path))).toHaveLength(5)
    expect(paths).toContain('deploy/crds/karpenter.sh_nodepools.yaml')
    expect(paths).toContain('starter/ui/dist/index.html')
    expect(paths).toContain('build/workflow-bundle.js')
    expect(paths).toContain('build/workflow-bundle-encrypted.js')
    // Workflows are bundled already: nothing of webpack is in what runs.
    const dist = await Promise.all(
      paths.filter((path) => /^dist\/.*\.js$/.test(path)).map((path) => readFile(join(folder, path), 'utf8')),
    )
    expect(dist.some((text) => text.includes('NativeConnection = class'))).toBe(true)
    expect(dist.some((text) => text.includes('Compilation = class'))).toBe(false)
  })

  test("holds of packages Temporal's library alone, for one platform", async () => {
    const modules = await readdir(join(folder, 'node_modules'), { recursive: true, withFileTypes: true })
    const files = modules.filter((entry) => entry.isFile())
    expect(files).toHaveLength(1)
    expect(`${files[0]?.parentPath}/${files[0]?.name}`).toMatch(
      /@temporalio\/core-bridge\/releases\/[\w-]+\/index\.node$/,
    )
  })

  test('prints its version, and names what it has not', async () => {
    const { version } = packageFile.parse(await jsonOf(join(folder, 'package.json')))
    const printing = start([...execForm(only(finalStage(), 'ENTRYPOINT')), '--version'], {})
    expect(await printing.exit(20_000)).toBe(0)
    expect(printing.output).toBe(version)
    const local = start([...execForm(only(finalStage(), 'ENTRYPOINT')), 'demo'], {})
    expect(await local.exit(20_000)).toBe(2)
    expect(local.output).toContain("unknown command 'demo'")
  })

  test('told nothing, names every setting that is missing and ends', async () => {
    const final = finalStage()
    const process = start([...execForm(only(final, 'ENTRYPOINT')), ...execForm(only(final, 'CMD'))], {})
    expect(await process.exit(20_000)).toBe(2)
    for (const name of ['TEMPORAL_ADDRESS', 'CLUSTER_NAME', 'ARM_SUBSCRIPTION_ID', 'VNET_SUBNET_ID'])
      expect(process.output).toContain(`environment variable ${name}: is missing`)
  })
})

test('every Deployment of the chart is tried', () => {
  expect(ofShape(manifests, ['Deployment'], deployment).map(({ metadata }) => metadata.name)).toEqual(deployments)
})

describe.each(deployments)('Deployment %s, while Temporal and the API server are down', (name) => {
  test('is alive, is not ready and says why, and ends at SIGTERM', async () => {
    const pod = startPod(name)
    expect(await pod.ask('/healthz')).toEqual({ status: 200, body: 'ok' })
    const { status, body } = await pod.ask('/readyz')
    expect(status).toBe(503)
    // What is known of a reason follows after a colon.
    expect(body.split('\n').map((line) => line.split(': ')[0])).toEqual(
      waits[name].map((what) => `waiting for ${what}`),
    )
    expect((await pod.ask('/metrics')).body).toContain('process_cpu_seconds_total')
    expect(await pod.terminate(20_000)).toBe(0)
    expect(pod.output).not.toContain('Warning')
  })
})

test('its files alone are a Joiner that works: with Temporal and the API server up its workers start', async () => {
  const world = await World.start()
  try {
    const { args, ...spec } = world.installation.processSpec()
    const entrypoint = args.map((arg) => (arg === commandLine ? join(folder, 'dist', 'joiner.js') : arg))
    world.cluster.supervisor.start({ ...spec, cwd: folder, args: entrypoint })
    const log = () => world.cluster.supervisor.tail('joiner', 10_000)
    expect(
      await world.until('its workers have started or it has failed', async () => {
        return /"started workers"|"level":"fatal"|ERR_|Cannot find module/.exec(await log())?.[0]
      }),
    ).toBe('"started workers"')
  } finally {
    await world.stop()
  }
})

test('compiled code comes with it; under other flags it says that it does not fit, and works', async () => {
  const [program = '', ...args] = execForm(only(finalStage(), 'ENTRYPOINT'))
  const env = { ...podEnvironment(manifests, deploymentOf('joiner-conversion')), ...elsewhere() }
  const own = `${folder}.compiled-otherwise`
  const other = new ImageProcess(folder, [program, '--no-flush-bytecode', ...args, 'worker'], {
    ...env,
    NODE_COMPILE_CACHE: own,
  })
  running.push(other)
  expect(await other.ask('/healthz')).toEqual({ status: 200, body: 'ok' })
  expect(other.output).toContain('is not of this Node and its flags')
  expect(await linksIn(own)).toEqual([])
  // All others were started with its own flags.
  const links = await linksIn(`${folder}.compiled`)
  expect(links.length).toBeGreaterThan(100)
  for (const link of links) expect(link).toMatch(`${folder}/compiled/v`)
  // Another user than the one who builds runs it.
  const modes = await Promise.all(links.map(async (link) => (await lstat(link)).mode & 0o777))
  expect(new Set(modes)).toEqual(new Set([0o644]))
})

test('nothing was written to the image, whose file system is read-only', async () => {
  expect(await state()).toEqual(before)
  expect(environmentOf(finalStage())['NODE_COMPILE_CACHE']).toMatch(/^\/tmp\//)
})

/** Where the links of a folder lead to. */
async function linksIn(path: string): Promise<readonly string[]> {
  const entries = await readdir(path, { withFileTypes: true, recursive: true })
  const links = entries.filter((entry) => entry.isSymbolicLink())
  return Promise.all(links.map(({ parentPath, name }) => readlink(join(parentPath, name))))
}

/** All files of the image with the times of their last change. Compiled code is not among them: where it can be written, as here, more is added to it. */
async function state(): Promise<readonly string[]> {
  const all = await readdir(folder, { recursive: true })
  const paths = all.filter((path) => !path.startsWith('compiled'))
  const times = paths.map(async (path) => `${path} ${(await lstat(join(folder, path))).mtimeMs}`)
  return (await Promise.all(times)).toSorted()
}

function finalStage(): (typeof stages)[number] {
  const final = stages.at(-1)
  if (final === undefined) throw new Error('Dockerfile: no stage')
  return final
}

/**
 * A pod of a Deployment: the image's entrypoint, the chart's arguments and environment. But its port is any that is free, and its cluster is
 * one that does not answer.
 */
function startPod(name: string): ImageProcess {
  const owner = deploymentOf(name)
  const [{ command, args }] = owner.spec.template.spec.containers
  const entrypoint = command ?? execForm(only(finalStage(), 'ENTRYPOINT'))
  return start([...entrypoint, ...args], { ...podEnvironment(manifests, owner), ...elsewhere() })
}

function elsewhere(): Readonly<Record<string, string>> {
  return { JOINER_HEALTH_PORT: '0', KUBECONFIG: `${folder}.kubeconfig` }
}

function deploymentOf(name: string): Deployment {
  const found = ofShape(manifests, ['Deployment'], deployment).find(({ metadata }) => metadata.name === name)
  if (found === undefined) throw new Error(`the chart has no Deployment ${name}`)
  return found
}

function start(command: readonly string[], env: Readonly<Record<string, string>>): ImageProcess {
  const process = new ImageProcess(folder, command, {
    ...environmentOf(finalStage()),
    ...env,
    NODE_COMPILE_CACHE: `${folder}.compiled`,
  })
  running.push(process)
  return process
}

async function jsonOf(path: string | URL): Promise<unknown> {
  return JSON.parse(await readFile(path instanceof URL ? fileURLToPath(path) : path, 'utf8'))
}
