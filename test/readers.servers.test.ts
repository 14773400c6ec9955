// What commands and pages show, against one cluster: each source, and each right that is missing.
import { afterAll, beforeAll, describe } from 'vitest'
import { accessCases } from './readers/access.ts'
import { adviseCases } from './readers/advise.ts'
import { doctorOfAzure } from './readers/doctor-azure.ts'
import { doctorOfInstallation } from './readers/doctor-installation.ts'
import { livesCases } from './readers/lives.ts'
import { pageActs, pageApplies } from './readers/page-acts.ts'
import { pageShows } from './readers/page-shows.ts'
import { Pages } from './readers/pages.ts'
import { Prepared } from './readers/prepared.ts'
import { setUpCases } from './readers/set-up.ts'
import { topCases } from './readers/top.ts'
import { uninstallCases } from './readers/uninstall.ts'

let prepared: Prepared

beforeAll(async () => {
  prepared = await Prepared.begin()
  await prepared.fill()
})

afterAll(() => prepared?.end())

const where = () => prepared

// In this order: what only reads first, then what ends nodes, then what changes the installation.
describe('top', () => topCases(where))
describe('the page', () => {
  let pages: Pages
  const open = () => pages
  beforeAll(async () => {
    pages = await Pages.open(prepared)
  })
  afterAll(() => pages?.end())
  describe('shows', () => pageShows(where, open))
  describe('acts', () => pageActs(where, open))
  pageApplies(where, open, () => describe('credentials', () => accessCases(where)))
})
describe('lives that are over', () => livesCases(where))
describe('advise', () => adviseCases(where))
describe('doctor', () => {
  doctorOfAzure(where)
  doctorOfInstallation(where)
})
describe('uninstall', () => uninstallCases(where))
describe('aks', () => setUpCases(where))
