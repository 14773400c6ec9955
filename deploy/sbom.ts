// Writes the bill of materials of what the image holds, as CycloneDX, from the lockfile alone: build/sbom.cdx.json.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Enums, Models, Serialize, SPDX, Spec, Validation } from '@cyclonedx/cyclonedx-library'

const root = fileURLToPath(new URL('..', import.meta.url))
const sbomPath = join(root, 'build', 'sbom.cdx.json')

interface LockedPackage {
  readonly version: string
  /** Development only. */
  readonly dev?: boolean
  /** `sha512-` and base64. */
  readonly integrity?: string
  readonly license?: string
  readonly optional?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

/** The packages that production installs, with hashes, licences and dependencies; the same text for the same lockfile. Errors: what the schema says. */
export async function makeSbom(lockfile: string): Promise<string> {
  const { packages } = JSON.parse(lockfile) as Lockfile
  const installed = Object.entries(packages).filter(([path, { dev = false }]) => path !== '' && !dev)
  const bom = new Models.Bom()
  const application = packages['']
  bom.metadata.component = new Models.Component(Enums.ComponentType.Application, 'joiner', {
    bomRef: 'joiner',
    ...(application === undefined ? {} : { version: application.version }),
  })
  const components = new Map(installed.map(([path, one]) => [path, componentOf(path, one)]))
  for (const component of components.values()) bom.components.add(component)
  addDependencies(bom.metadata.component, dependenciesOf('', application, components))
  for (const [path, one] of installed) addDependencies(components.get(path), dependenciesOf(path, one, components))
  const text = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6)).serialize(bom, {
    sortLists: true,
    space: 2,
  })
  const wrong = await sbomErrors(text)
  if (wrong !== undefined) throw new Error(`the bill of materials is no CycloneDX 1.6: ${wrong}`)
  return `${text}\n`
}

/** What CycloneDX' schema says against a text; undefined: nothing. */
export async function sbomErrors(text: string): Promise<string | undefined> {
  const errors = await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)
  return errors === null ? undefined : JSON.stringify(errors).slice(0, 2000)
}

function componentOf(path: string, { version, integrity, license, optional = false }: LockedPackage): Models.Component {
  const name = nameOf(path)
  return new Models.Component(Enums.ComponentType.Library, name, {
    bomRef: path,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    scope: optional ? Enums.ComponentScope.Optional : Enums.ComponentScope.Required,
    hashes: new Models.HashDictionary(hashesIn(integrity)),
    licenses: new Models.LicenseRepository(license === undefined ? [] : [licenseOf(license)]),
  })
}

/** `node_modules/a/node_modules/@b/c` is `@b/c`. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

function hashesIn(integrity = ''): readonly (readonly [Enums.HashAlgorithm, string])[] {
  const [, base64] = /^sha512-(.+)$/.exec(integrity) ?? []
  return base64 === undefined ? [] : [[Enums.HashAlgorithm['SHA-512'], Buffer.from(base64, 'base64').toString('hex')]]
}

function licenseOf(license: string) {
  if (SPDX.isSupportedSpdxId(license)) return new Models.SpdxLicense(license)
  return /[ ()]/.test(license) ? new Models.LicenseExpression(license) : new Models.NamedLicense(license)
}

/** Dependencies are found as Node finds them: beside the package, or beside one that it lies in. */
function dependenciesOf(
  path: string,
  locked: LockedPackage | undefined,
  components: ReadonlyMap<string, Models.Component>,
): readonly Models.Component[] {
  const names = Object.keys({ ...locked?.dependencies, ...locked?.optionalDependencies })
  return names.flatMap((name) => {
    const found = placesFrom(path).map((place) => components.get(`${place}node_modules/${name}`))
    return found.find((one) => one !== undefined) ?? []
  })
}

function addDependencies(component: Models.Component | undefined, dependencies: readonly Models.Component[]): void {
  for (const { bomRef } of dependencies) component?.dependencies.add(bomRef)
}

/** Where a package looks for others, the nearest first: `node_modules/a/node_modules/b/`, `node_modules/a/`, and the root. */
function placesFrom(path: string): readonly string[] {
  const places = [path === '' ? '' : `${path}/`]
  for (
    let at = path.lastIndexOf('node_modules/');
    at >= 0;
    at = at === 0 ? -1 : path.lastIndexOf('node_modules/', at - 1)
  )
    places.push(path.slice(0, at))
  return places
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = await makeSbom(await readFile(join(root, 'package-lock.json'), 'utf8'))
  await mkdir(dirname(sbomPath), { recursive: true })
  await writeFile(sbomPath, text)
  const { components } = JSON.parse(text) as { readonly components: readonly unknown[] }
  console.log(`${sbomPath}: ${components.length} components, valid CycloneDX 1.6`)
}
