from bide.api import Jobs

async def test_x(jobs: Jobs) -> None:
    ran = await jobs.run("echo hi; sleep 1000 &")
    assert ran.out
    assert ran.out.data == b"hi\n"
    await jobs.run("sleep 1000", background=True)
