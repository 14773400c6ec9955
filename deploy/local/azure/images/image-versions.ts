import { isSameText } from '../../../../core/values/texts.ts'
/** A version of an image definition in a gallery. */
export interface ImageVersion {
  readonly name: string
  readonly publishedDate: string
}

/** A new version, of all definitions that match what is named. */
export interface Publication {
  /** `AKSUbuntu` or `AKSAzureLinux`. */
  readonly gallery?: string
  readonly definition?: string
  /** Such as `202611.01.0`. */
  readonly version: string
  /** Default: now. */
  readonly publishedDate?: string
}

interface Gallery {
  /** Name of the shared gallery. */
  readonly name: string
  /** Name of the public, community one: without FIPS images. */
  readonly community: string
  readonly definitions: readonly string[]
}

/** Node images of AKS (reference/azure-provider.md 6.2, 6.3). */
const galleries: readonly Gallery[] = [
  {
    name: 'AKSUbuntu',
    community: 'AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2',
    definitions: [
      ...['2204', '2404'].flatMap((release) => [
        `${release}gen2containerd`,
        `${release}containerd`,
        `${release}gen2arm64containerd`,
        `${release}gen2TLcontainerd`,
      ]),
      '2204gen2fipsTLcontainerd',
      '2004gen2fipscontainerd',
      '2004fipscontainerd',
    ],
  },
  {
    name: 'AKSAzureLinux',
    community: 'AKSAzureLinux-f7c7cda5-1c9a-4bdc-a222-9614c968580b',
    definitions: [
      ...['V2', 'V3'].flatMap((release) => [
        `${release}gen2`,
        release,
        `${release}gen2arm64`,
        `${release}gen2TL`,
        `${release}gen2fips`,
        `${release}fips`,
      ]),
      'V3gen2arm64fips',
    ],
  },
]

const firstVersions: readonly ImageVersion[] = [
  { name: '202604.10.0', publishedDate: '2026-04-12T00:00:00Z' },
  { name: '202610.20.0', publishedDate: '2026-10-22T00:00:00Z' },
]

/** Images that VMs can be made of, in community and shared galleries alike. What is published later is not kept on disk. */
export class ImageVersions {
  readonly #published: Publication[] = []

  publish(publication: Publication): void {
    this.#published.push({ publishedDate: new Date().toISOString(), ...publication })
  }

  /** Versions of a definition in a community gallery, oldest first; undefined: no such gallery or definition. */
  community(gallery: string, definition: string): readonly ImageVersion[] | undefined {
    const found = galleries.find(({ community }) => isSameText(community, gallery))
    const isThere = found?.definitions.some((name) => isSameText(name, definition) && !name.includes('fips')) === true
    return found !== undefined && isThere ? this.#versions(found, definition) : undefined
  }

  /**
   * Returns the version that an image reference stands for: the newest for `latest`, and for an id without a version. Undefined when it is not there.
   * Ids: `/CommunityGalleries/...`, or that of a shared gallery's version.
   */
  find(id: string): string | undefined {
    const [, where = '', gallery = '', definition = '', version = 'latest'] =
      /^\/(communityGalleries|subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/Microsoft\.Compute\/galleries)\/([^/]+)\/images\/([^/]+)(?:\/versions\/([^/]+))?$/i.exec(
        id,
      ) ?? []
    const versions = isSameText(where, 'communityGalleries')
      ? this.community(gallery, definition)
      : this.#shared(gallery, definition)
    return isSameText(version, 'latest') ? versions?.at(-1)?.name : versions?.find(({ name }) => name === version)?.name
  }

  /** The newest version of each definition, as AKS lists them. */
  get nodeImageVersions(): readonly Record<string, string>[] {
    return galleries.flatMap((gallery) =>
      gallery.definitions.map((sku) => {
        const version = this.#versions(gallery, sku).at(-1)?.name ?? ''
        return { fullName: `${gallery.name}-${sku}-${version}`, os: gallery.name, sku, version }
      }),
    )
  }

  #shared(gallery: string, definition: string): readonly ImageVersion[] | undefined {
    const found = galleries.find(({ name }) => isSameText(name, gallery))
    const isThere = found?.definitions.some((name) => isSameText(name, definition)) === true
    return found !== undefined && isThere ? this.#versions(found, definition) : undefined
  }

  #versions(gallery: Gallery, definition: string): readonly ImageVersion[] {
    const published = this.#published.filter(
      (one) =>
        (one.gallery === undefined || isSameText(one.gallery, gallery.name)) &&
        (one.definition === undefined || isSameText(one.definition, definition)),
    )
    return [...firstVersions, ...published.map(({ version, publishedDate = '' }) => ({ name: version, publishedDate }))]
  }
}
