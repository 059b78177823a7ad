-- A store as deniable wrote it at schema 1: what it released, and a day and a once question that still count.
BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'deniable-collector','m001_counts_without_reports','2026-11-30 12:21:04.412398+00:00');
CREATE TABLE clock (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        watermark TEXT NOT NULL
    );
INSERT INTO "clock" VALUES(1,'2026-11-30T12:00:00+00:00');
CREATE TABLE destroyed (
        question INTEGER NOT NULL REFERENCES questions (id),
        period TEXT NOT NULL,
        batch TEXT NOT NULL,
        segment TEXT NOT NULL,
        min_crowd INTEGER NOT NULL,
        PRIMARY KEY (question, period, batch, segment)
    ) WITHOUT ROWID;
INSERT INTO "destroyed" VALUES(2,'2026-11-27','','',9);
CREATE TABLE ledger (
        scope INTEGER NOT NULL,
        tag BLOB NOT NULL,
        bits BLOB NOT NULL,
        PRIMARY KEY (scope, tag)
    ) WITHOUT ROWID;
INSERT INTO "ledger" VALUES(2,X'06995D7EBA46DDD2FD874CF6E39C2290',X'08');
INSERT INTO "ledger" VALUES(2,X'5B967EB1E9B567A4612EC6EBFB892878',X'08');
INSERT INTO "ledger" VALUES(2,X'84FBC9DB6F8202FAC5E1E284A2C602F2',X'08');
INSERT INTO "ledger" VALUES(2,X'EB69260B86ABBC0D4ECD0DCA84A27E49',X'08');
INSERT INTO "ledger" VALUES(2,X'FDE4A312AB1877B550DDDCFB3F266691',X'08');
INSERT INTO "ledger" VALUES(3,X'02F7B0FFF26C81B68FF88FA6BEA7D973',X'05');
INSERT INTO "ledger" VALUES(3,X'11CC1279B47A2D03A8B6E93A6A102676',X'05');
INSERT INTO "ledger" VALUES(3,X'34BB1BA2C5B897A8422A321B4F86D45C',X'04');
INSERT INTO "ledger" VALUES(3,X'4E92EB1821DF4C947C8F27A620419B5A',X'04');
INSERT INTO "ledger" VALUES(3,X'9533365B3AA4F133892BB9D77D355A87',X'05');
INSERT INTO "ledger" VALUES(3,X'B3274150935E4C3B9DB517C6CC1427F8',X'05');
INSERT INTO "ledger" VALUES(3,X'BE10AAD1B6FB62729B4EE9BB82B6C041',X'05');
INSERT INTO "ledger" VALUES(3,X'C3ABB3DA68FFF76ADF4F3673827CE41E',X'05');
INSERT INTO "ledger" VALUES(3,X'DF8B9ECFB4CF7CA7A31B5818481E0636',X'04');
INSERT INTO "ledger" VALUES(3,X'E1887EE60D15850D4054CD94A5EE47AE',X'04');
CREATE TABLE pending (
        question INTEGER NOT NULL REFERENCES questions (id),
        period TEXT NOT NULL,
        segment TEXT NOT NULL,
        n INTEGER NOT NULL,
        cells BLOB NOT NULL,
        PRIMARY KEY (question, period, segment)
    ) WITHOUT ROWID;
INSERT INTO "pending" VALUES(1,'2026-11-30','',6,X'02000000000000000400000000000000');
INSERT INTO "pending" VALUES(3,'2026-11-30','',6,X'0300000000000000020000000000000002000000000000000400000000000000030000000000000002000000000000000300000000000000020000000000000001000000000000000200000000000000030000000000000001000000000000000400000000000000030000000000000003000000000000000500000000000000030000000000000002000000000000000300000000000000030000000000000004000000000000000300000000000000040000000000000001000000000000000600000000000000');
INSERT INTO "pending" VALUES(3,'2026-11-30','a',4,X'0200000000000000010000000000000004000000000000000400000000000000040000000000000000000000000000000000000000000000010000000000000001000000000000000200000000000000010000000000000001000000000000000100000000000000010000000000000001000000000000000200000000000000020000000000000002000000000000000100000000000000030000000000000003000000000000000200000000000000030000000000000003000000000000000400000000000000');
INSERT INTO "pending" VALUES(4,'once','',3,X'02000000000000000100000000000000');
CREATE TABLE probe (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        flip INTEGER NOT NULL
    );
CREATE TABLE questions (
        id INTEGER PRIMARY KEY,
        survey TEXT NOT NULL,
        question TEXT NOT NULL,
        version INTEGER NOT NULL,
        bit INTEGER NOT NULL,
        definition TEXT NOT NULL,
        UNIQUE (survey, question, version),
        UNIQUE (survey, bit)
    );
INSERT INTO "questions" VALUES(1,'test','yes',1,0,'{"id": "yes", "version": 1, "hash": "aa739d50cba3533552e908079e39988b1acd37ac6757623efc128c04f781501c", "ask": "Is it?", "type": "boolean", "choices": [], "range": null, "mechanism": {"name": "grr", "k": 2, "derivation": "deniable/1", "options": {}, "shape": {"kind": "symbol", "width": 2, "rows": 1, "weight": null}, "thresholds": {"keep": "16247838278329192790"}}, "epsilon": "2", "epsilon_first": null, "period": "day", "grace": 1, "min_crowd": 1, "default": null, "owner": "tests", "expires": "2098-12-31"}');
INSERT INTO "questions" VALUES(2,'test','small',1,1,'{"id": "small", "version": 1, "hash": "bccac89d19e0781b10c5469e8f54b813a60d73593cc632f8af6b346494204d86", "ask": "Is it?", "type": "boolean", "choices": [], "range": null, "mechanism": {"name": "grr", "k": 2, "derivation": "deniable/1", "options": {}, "shape": {"kind": "symbol", "width": 2, "rows": 1, "weight": null}, "thresholds": {"keep": "16247838278329192790"}}, "epsilon": "2", "epsilon_first": null, "period": "day", "grace": 1, "min_crowd": 9, "default": null, "owner": "tests", "expires": "2098-12-31"}');
INSERT INTO "questions" VALUES(3,'test','pick',1,2,'{"id": "pick", "version": 1, "hash": "a499ea8033bfdb1bb63c87b32975b6832cbf772ab4b4b29dfb21194fdc6b7f1f", "ask": "Is it?", "type": "choice", "choices": ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12", "c13", "c14", "c15", "c16", "c17", "c18", "c19", "c20", "c21", "c22", "c23"], "range": null, "mechanism": {"name": "oue", "k": 24, "derivation": "deniable/1", "options": {}, "shape": {"kind": "bits", "width": 24, "rows": 1, "weight": null}, "thresholds": {"true_bit": "9223372036854775808", "other_bit": "2198905795380358826"}}, "epsilon": "2", "epsilon_first": null, "period": "day", "grace": 1, "min_crowd": 1, "default": null, "owner": "tests", "expires": "2098-12-31"}');
INSERT INTO "questions" VALUES(4,'test','ever',1,3,'{"id": "ever", "version": 1, "hash": "3b4ba1a26a444c75ececbb0b5bfc98bd6d90e44179af7ef0674a855ba776ed19", "ask": "Is it?", "type": "boolean", "choices": [], "range": null, "mechanism": {"name": "grr", "k": 2, "derivation": "deniable/1", "options": {}, "shape": {"kind": "symbol", "width": 2, "rows": 1, "weight": null}, "thresholds": {"keep": "16247838278329192790"}}, "epsilon": "2", "epsilon_first": null, "period": "once", "grace": 0, "min_crowd": 1, "default": null, "owner": "tests", "expires": "2098-12-31"}');
CREATE TABLE released (
        question INTEGER NOT NULL REFERENCES questions (id),
        period TEXT NOT NULL,
        batch TEXT NOT NULL,
        segment TEXT NOT NULL,
        n INTEGER NOT NULL,
        document TEXT NOT NULL,
        PRIMARY KEY (question, period, batch, segment)
    ) WITHOUT ROWID;
INSERT INTO "released" VALUES(1,'2026-11-27','','',5,'{"format": 1, "survey": "test", "period": "2026-11-27", "batch": null, "segment": null, "n": 5, "cells": [2, 3], "question": {"id": "yes", "version": 1, "hash": "aa739d50cba3533552e908079e39988b1acd37ac6757623efc128c04f781501c", "ask": "Is it?", "type": "boolean", "choices": [], "range": null, "mechanism": {"name": "grr", "k": 2, "derivation": "deniable/1", "options": {}, "shape": {"kind": "symbol", "width": 2, "rows": 1, "weight": null}, "thresholds": {"keep": "16247838278329192790"}}, "epsilon": "2", "epsilon_first": null, "period": "day", "grace": 1, "min_crowd": 1, "default": null, "owner": "tests", "expires": "2098-12-31"}}');
INSERT INTO "released" VALUES(1,'2026-11-27','','a',3,'{"format": 1, "survey": "test", "period": "2026-11-27", "batch": null, "segment": "a", "n": 3, "cells": [2, 1], "question": {"id": "yes", "version": 1, "hash": "aa739d50cba3533552e908079e39988b1acd37ac6757623efc128c04f781501c", "ask": "Is it?", "type": "boolean", "choices": [], "range": null, "mechanism": {"name": "grr", "k": 2, "derivation": "deniable/1", "options": {}, "shape": {"kind": "symbol", "width": 2, "rows": 1, "weight": null}, "thresholds": {"keep": "16247838278329192790"}}, "epsilon": "2", "epsilon_first": null, "period": "day", "grace": 1, "min_crowd": 1, "default": null, "owner": "tests", "expires": "2098-12-31"}}');
INSERT INTO "released" VALUES(3,'2026-11-27','','',5,'{"format": 1, "survey": "test", "period": "2026-11-27", "batch": null, "segment": null, "n": 5, "cells": [3, 3, 0, 1, 5, 2, 4, 2, 2, 4, 2, 2, 3, 3, 3, 1, 1, 3, 2, 3, 2, 3, 1, 3, 5], "question": {"id": "pick", "version": 1, "hash": "a499ea8033bfdb1bb63c87b32975b6832cbf772ab4b4b29dfb21194fdc6b7f1f", "ask": "Is it?", "type": "choice", "choices": ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12", "c13", "c14", "c15", "c16", "c17", "c18", "c19", "c20", "c21", "c22", "c23"], "range": null, "mechanism": {"name": "oue", "k": 24, "derivation": "deniable/1", "options": {}, "shape": {"kind": "bits", "width": 24, "rows": 1, "weight": null}, "thresholds": {"true_bit": "9223372036854775808", "other_bit": "2198905795380358826"}}, "epsilon": "2", "epsilon_first": null, "period": "day", "grace": 1, "min_crowd": 1, "default": null, "owner": "tests", "expires": "2098-12-31"}}');
INSERT INTO "released" VALUES(4,'once','2026-W48','',2,'{"format": 1, "survey": "test", "period": "once", "batch": "2026-W48", "segment": null, "n": 2, "cells": [2, 0], "question": {"id": "ever", "version": 1, "hash": "3b4ba1a26a444c75ececbb0b5bfc98bd6d90e44179af7ef0674a855ba776ed19", "ask": "Is it?", "type": "boolean", "choices": [], "range": null, "mechanism": {"name": "grr", "k": 2, "derivation": "deniable/1", "options": {}, "shape": {"kind": "symbol", "width": 2, "rows": 1, "weight": null}, "thresholds": {"keep": "16247838278329192790"}}, "epsilon": "2", "epsilon_first": null, "period": "once", "grace": 0, "min_crowd": 1, "default": null, "owner": "tests", "expires": "2098-12-31"}}');
CREATE TABLE scopes (
        id INTEGER PRIMARY KEY,
        survey TEXT NOT NULL,
        period TEXT NOT NULL,
        question TEXT NOT NULL,
        version INTEGER NOT NULL,
        devices INTEGER NOT NULL DEFAULT 0,
        closed INTEGER NOT NULL DEFAULT 0,
        UNIQUE (survey, period, question, version)
    );
INSERT INTO "scopes" VALUES(1,'test','2026-11-27','',0,8,1);
INSERT INTO "scopes" VALUES(2,'test','once','ever',1,5,0);
INSERT INTO "scopes" VALUES(3,'test','2026-11-30','',0,10,0);
CREATE TABLE surveys (
        id TEXT PRIMARY KEY,
        document TEXT NOT NULL,
        segments TEXT NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "surveys" VALUES('test','{
 "format": 1,
 "id": "test",
 "max_epsilon": "1000",
 "segments": [
  "a"
 ],
 "batch": "survey",
 "linkable": true,
 "questions": [
  {
   "id": "yes",
   "version": 1,
   "hash": "aa739d50cba3533552e908079e39988b1acd37ac6757623efc128c04f781501c",
   "ask": "Is it?",
   "type": "boolean",
   "choices": [],
   "range": null,
   "mechanism": {
    "name": "grr",
    "k": 2,
    "derivation": "deniable/1",
    "options": {},
    "shape": {
     "kind": "symbol",
     "width": 2,
     "rows": 1,
     "weight": null
    },
    "thresholds": {
     "keep": "16247838278329192790"
    }
   },
   "epsilon": "2",
   "epsilon_first": null,
   "period": "day",
   "grace": 1,
   "min_crowd": 1,
   "default": null,
   "owner": "tests",
   "expires": "2098-12-31"
  },
  {
   "id": "small",
   "version": 1,
   "hash": "bccac89d19e0781b10c5469e8f54b813a60d73593cc632f8af6b346494204d86",
   "ask": "Is it?",
   "type": "boolean",
   "choices": [],
   "range": null,
   "mechanism": {
    "name": "grr",
    "k": 2,
    "derivation": "deniable/1",
    "options": {},
    "shape": {
     "kind": "symbol",
     "width": 2,
     "rows": 1,
     "weight": null
    },
    "thresholds": {
     "keep": "16247838278329192790"
    }
   },
   "epsilon": "2",
   "epsilon_first": null,
   "period": "day",
   "grace": 1,
   "min_crowd": 9,
   "default": null,
   "owner": "tests",
   "expires": "2098-12-31"
  },
  {
   "id": "pick",
   "version": 1,
   "hash": "a499ea8033bfdb1bb63c87b32975b6832cbf772ab4b4b29dfb21194fdc6b7f1f",
   "ask": "Is it?",
   "type": "choice",
   "choices": [
    "c0",
    "c1",
    "c2",
    "c3",
    "c4",
    "c5",
    "c6",
    "c7",
    "c8",
    "c9",
    "c10",
    "c11",
    "c12",
    "c13",
    "c14",
    "c15",
    "c16",
    "c17",
    "c18",
    "c19",
    "c20",
    "c21",
    "c22",
    "c23"
   ],
   "range": null,
   "mechanism": {
    "name": "oue",
    "k": 24,
    "derivation": "deniable/1",
    "options": {},
    "shape": {
     "kind": "bits",
     "width": 24,
     "rows": 1,
     "weight": null
    },
    "thresholds": {
     "true_bit": "9223372036854775808",
     "other_bit": "2198905795380358826"
    }
   },
   "epsilon": "2",
   "epsilon_first": null,
   "period": "day",
   "grace": 1,
   "min_crowd": 1,
   "default": null,
   "owner": "tests",
   "expires": "2098-12-31"
  },
  {
   "id": "ever",
   "version": 1,
   "hash": "3b4ba1a26a444c75ececbb0b5bfc98bd6d90e44179af7ef0674a855ba776ed19",
   "ask": "Is it?",
   "type": "boolean",
   "choices": [],
   "range": null,
   "mechanism": {
    "name": "grr",
    "k": 2,
    "derivation": "deniable/1",
    "options": {},
    "shape": {
     "kind": "symbol",
     "width": 2,
     "rows": 1,
     "weight": null
    },
    "thresholds": {
     "keep": "16247838278329192790"
    }
   },
   "epsilon": "2",
   "epsilon_first": null,
   "period": "once",
   "grace": 0,
   "min_crowd": 1,
   "default": null,
   "owner": "tests",
   "expires": "2098-12-31"
  }
 ]
}
','["a"]');
CREATE TABLE tokens (
        name TEXT PRIMARY KEY,
        hash BLOB NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "tokens" VALUES('ann',X'4F89C46B487A86AA31E89B107C3C2E03766E96AF7F35548B3F3ABE03289F0E9B');
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE VIEW released_tallies AS
        SELECT q.survey, q.question, q.version, t.period,
               nullif(t.batch, '') AS batch, nullif(t.segment, '') AS segment, t.n, t.document
        FROM released t JOIN questions q ON q.id = t.question;
CREATE VIEW period_states AS
        SELECT q.survey, q.question, q.version, t.period,
               NULL AS batch, nullif(t.segment, '') AS segment, 'pending' AS state,
               CASE length(t.n) WHEN 1 THEN '0-9' ELSE
                   substr('1000000000000000000', 1, length(t.n)) || '-' ||
                   substr('9999999999999999999', 1, length(t.n)) END AS crowd
        FROM pending t JOIN questions q ON q.id = t.question
        UNION ALL
        SELECT q.survey, q.question, q.version, t.period,
               nullif(t.batch, ''), nullif(t.segment, ''), 'released', CAST(t.n AS TEXT)
        FROM released t JOIN questions q ON q.id = t.question
        UNION ALL
        SELECT q.survey, q.question, q.version, t.period,
               nullif(t.batch, ''), nullif(t.segment, ''), 'destroyed',
               'fewer than ' || t.min_crowd
        FROM destroyed t JOIN questions q ON q.id = t.question;
COMMIT;
