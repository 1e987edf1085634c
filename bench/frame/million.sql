-- million.sql - psql -v n=1000000: so many conversations of one person, with a question and an answer each.
-- Its user is a superuser. Indexes are made again afterwards, and references are not checked: a fifth of the time.
-- Every text has the word "project", one of 1,000 has the same "topic", one of 50,000 the same "subject".
SELECT coalesce(max(key), 0) AS base FROM nb_conversation \gset
CREATE TEMP TABLE made AS
SELECT i, 'conv_' || substr(md5(i::text), 1, 16) AS id,
       to_char(to_timestamp(1760000000 + i * 20), 'YYYY-MM-DD"T"HH24:MI:SS.000"Z"') AS at,
       (1760000000 + i * 20)::bigint * 1000 AS at_ms,
       format('project topic%s subject%s: what is left to do before week %s?', i % 1000, i % 50000, i % 52) AS question,
       format('The project topic%s has three open points; the owner of subject%s decides about number %s.', i % 1000, i % 50000, i) AS answer
FROM generate_series(1, :n) i;
SET session_replication_role = replica;
SET synchronous_commit = off;
SET maintenance_work_mem = '512MB';
CREATE TEMP TABLE removed AS
SELECT i.indexdef, format('%I.%I', i.schemaname, i.indexname) AS name FROM pg_indexes i
WHERE i.tablename IN ('nb_conversation', 'nb_event', 'nb_text') AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conname = i.indexname);
DO $$ DECLARE x record; BEGIN FOR x IN SELECT name FROM removed LOOP EXECUTE 'DROP INDEX ' || x.name; END LOOP; END $$;
INSERT INTO nb_conversation (key, workspace, id, last, created_at, updated_at, owner_id, is_shared, is_sealed, is_hidden, participants, title, preview, summary)
SELECT :base + i, :'workspace', id, 2, at, at, :'owner', false, false, false, ARRAY[:'owner'], format('Topic %s', i % 1000), question,
       format('{"updatedAt":"%s","workspaceId":"%s","createdAt":"%s","channel":"web","ownerId":"%s","participants":["%s"],"readers":[],"title":"Topic %s","preview":"%s","lastModel":"demo:demo","lastRun":"complete","messageCount":2,"inputTokens":100,"outputTokens":20,"isCostKnown":true,"past":"{\"people\":[\"%s\"],\"limits\":[],\"tools\":[]}","prices":{"demo:demo":0}}',
              at, :'workspace', at, :'owner', :'owner', i % 1000, question, :'owner')
FROM made;
INSERT INTO nb_event (conversation, seq, line)
SELECT :base + i, 0, format('{"id":"%s","createdAt":"%s","format":"events","workspaceId":"%s","ownerId":"%s","visibility":"private","participants":["%s"],"channel":"web"}', id, at, :'workspace', :'owner', :'owner') FROM made
UNION ALL SELECT :base + i, 1, format('{"ts":"%s","type":"user.message","content":[{"type":"text","text":"%s"}],"userId":"%s"}', at, question, :'owner') FROM made
UNION ALL SELECT :base + i, 2, format('{"ts":"%s","type":"llm.response","runId":"run_0123456789abcdef","model":"demo:demo","content":[{"type":"text","text":"%s"}]}', at, answer) FROM made;
INSERT INTO nb_text (conversation, seq, at_ms, words)
SELECT :base + i, 1, at_ms, array_to_tsvector(regexp_split_to_array(lower('user usrdefault ' || regexp_replace(question, '[^a-z0-9 ]', '', 'g')), ' +')) FROM made
UNION ALL SELECT :base + i, 2, at_ms + 1, array_to_tsvector(regexp_split_to_array(lower('assistant ' || regexp_replace(answer, '[^A-Za-z0-9 ]', '', 'g')), ' +')) FROM made;
DO $$ DECLARE x record; BEGIN FOR x IN SELECT indexdef FROM removed LOOP EXECUTE x.indexdef; END LOOP; END $$;
SELECT setval(pg_get_serial_sequence('nb_conversation', 'key'), :base + :n) \g /dev/null
ANALYZE nb_conversation;
ANALYZE nb_event;
ANALYZE nb_text;
